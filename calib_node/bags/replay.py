# SPDX-License-Identifier: Apache-2.0
"""Puts recordings through a stream, message by message, as they came to the robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from calib_node.bags.driver import Driver
from calib_node.bags.playback import Playback, Played

TICK = 512
"""So many messages from one look at the progress to the next."""


class Clock:
    """What time it is in a recording.

    Attributes
    ----------
    time : int
        Of the message that is being replayed, in nanoseconds; 0 before the first.
    """

    time = 0


def replay(
    driver: Driver,
    playback: Playback,
    clock: Clock | None = None,
    on_message: Callable[[Played, bytes | None], None] | None = None,
    ticks: Sequence[Callable[[int], None]] = (),
) -> int:
    """Put the messages of a playback through a stream, and decide the labels that wait at the end.

    Parameters
    ----------
    driver : Driver
        Has the stream; its pipeline's `on_match` is for who wants to see the matches.
    playback : Playback
        Has the messages.
    clock : Clock, optional
        Kept at the time of each message.
    on_message : callable, optional
        Takes each message, and for a prediction the calibrated one unless it is refused.
    ticks : sequence of callable
        Each takes, now and then and at the end, how many messages were replayed since.

    Returns
    -------
    int
        How many messages were replayed.
    """
    clock = Clock() if clock is None else clock
    on_prediction, on_label = driver.on_prediction, driver.on_label
    raw = playback.source.raw
    count = told = 0
    for played in playback.play(driver.stamp_of):
        topic, is_label, clock.time, received, data = played
        answer = None
        if is_label:
            on_label(data, received)
        elif topic == raw:
            answer = on_prediction(data, received)
        if on_message is not None:
            on_message(played, answer)
        count += 1
        if count - told == TICK:
            told = count
            for tick in ticks:
                tick(TICK)
    driver.stream.pipeline.flush()
    for tick in ticks:
        tick(count - told)
    return count
