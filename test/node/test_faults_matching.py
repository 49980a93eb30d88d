# SPDX-License-Identifier: Apache-2.0
"""What labels do on a robot, over the middleware. Times are seconds of a recording."""

from __future__ import annotations

import random

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core.samples import Label, Prediction

from .harness import SECOND, Client, World, pipeline

START = 1_700_000_000 * SECOND
BATCH = 500
"""Messages sent at once, well within the depth of the topics."""


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def predict_all(client: Client, stamps: list[int], p: float = 0.8) -> None:
    """Publish predictions, batch by batch, and wait until each is answered."""
    heard = len(client.calibrated)
    for first in range(0, len(stamps), BATCH):
        batch = stamps[first : first + BATCH]
        for stamp in batch:
            client.predict(stamp, p)
        heard += len(batch)
        client.spin_until(lambda n=heard: len(client.calibrated) == n, 'every answer')


def test_a_bag_that_loops_teaches_each_round_and_what_was_learned_stays(world: World):
    core = pipeline()
    _, client = world.connected()
    predict_all(client, [at(t) for t in range(100, 120)])
    client.label(at(110), 0)
    client.wait_for_figure('updates', 1)
    core.calibrator.update(0.8, 0)
    for t in range(50):
        assert client.ask(at(t), 0.7) == core.calibrator.predict(0.7)
        client.label(at(t), t % 2)
        core.calibrator.update(0.7, t % 2)
        client.wait_for_figure('updates', t + 2)
    assert client.figures()['jumps back in time'] == '1'
    assert client.figures()['expired predictions'] == '19'
    assert client.figures()['a'] == repr(core.calibrator.a)


def test_two_labels_in_the_other_order_are_two_updates(world: World):
    core = pipeline()
    _, client = world.connected()
    for stamp, p in ((at(1), 0.8), (at(2), 0.3)):
        client.ask(stamp, p)
    client.label(at(2), 1)
    client.label(at(1), 0)
    client.wait_for_figure('updates', 2)
    core.calibrator.update(0.3, 1)
    core.calibrator.update(0.8, 0)
    assert client.figures()['a'] == repr(core.calibrator.a)


@pytest.mark.parametrize(
    ('shift', 'words'),
    [(1.0, '1 s after the nearest prediction'), (-1.0, '1 s before the nearest')],
)
def test_labels_a_second_off_match_nothing_and_a_warning_says_how_far(world: World, shift, words):
    _, client = world.connected()
    for number in range(25):
        client.ask(at(4 * number), 0.8)
        client.label(at(4 * number + shift), 0)
    client.wait_for_status(DiagnosticStatus.WARN, '25 labels came and none matched', words)
    assert client.figures()['updates'] == client.figures()['matched'] == '0'
    # What the warning says to do helps.
    client.set('label.offset', -shift)
    client.ask(at(110), 0.8)
    client.label(at(110 + shift), 0)
    client.wait_for_figure('updates', 1)
    client.wait_for_status(DiagnosticStatus.OK)


def test_a_burst_of_labels_among_ten_thousand_that_wait_loses_none(world: World):
    rng = random.Random(6)
    core = pipeline()
    _, client = world.connected()
    stamps = [at(number / 1000) for number in range(10_000)]
    predict_all(client, stamps)
    client.wait_for_figure('pending predictions', 10_000)
    burst = rng.sample(stamps, 1000)
    for stamp in burst:
        client.label(stamp, 0)
        core.calibrator.update(0.8, 0)
    client.wait_for_figure('matched', 1000)
    assert client.figures()['updates'] == '1000'
    assert client.figures()['pending predictions'] == '9000'
    assert client.figures()['a'] == repr(core.calibrator.a)


def test_labels_at_a_fifteenth_of_the_rate_are_all_learned(world: World):
    core = pipeline()
    _, client = world.connected()
    stamps = [at(number / 30) for number in range(450)]
    predict_all(client, stamps)
    for stamp in stamps[::15]:
        client.label(stamp, 1)
        core.calibrator.update(0.8, 1)
    client.wait_for_figure('updates', 30)
    assert client.figures()['a'] == repr(core.calibrator.a)


def test_labels_before_their_predictions_are_learned(world: World):
    _, client = world.connected()
    for t in range(100):
        client.label(at(t), t % 2)
    client.wait_for_figure('pending labels', 100)
    predict_all(client, [at(t) for t in range(100)])
    client.wait_for_figure('updates', 100)


def test_what_is_sent_twice_is_learned_once(world: World):
    node, client = world.connected()
    client.ask(at(1), 0.8)
    client.ask(at(1), 0.8)
    client.label(at(1), 0)
    client.ask(at(2), 0.8)
    for _ in range(2):
        client.label(at(2), 1)
    client.wait_for_figure('updates', 2)
    # The label that is one too many is known for it when event time has passed it.
    client.ask(at(3), 0.8)
    client.wait_for_figure('duplicate labels', 1)
    assert client.figures()['updates'] == '2'
    node.wait_for('predictions share a stamp')


def test_the_label_of_an_expired_prediction_teaches_nothing(world: World):
    _, client = world.connected({'match.horizon': 5.0})
    predict_all(client, [at(t) for t in range(10)])
    client.wait_for_figure('expired predictions', 4)
    client.label(at(2), 0)
    client.wait_for_figure('unmatched labels', 1)
    assert client.figures()['updates'] == '0'
    client.label(at(4), 0)
    client.wait_for_figure('updates', 1)


def test_a_label_minutes_late_is_learned_within_the_horizon(world: World):
    core = pipeline()
    _, client = world.connected({'match.horizon': 600.0})
    predict_all(client, [at(t) for t in range(540)])
    client.label(at(0), 1)
    client.wait_for_figure('updates', 1)
    core.predict(Prediction(at(0), 0.8))
    core.label(Label(at(0), 1.0))
    assert client.ask(at(541), 0.6) == core.calibrator.predict(0.6)


def test_a_shallow_queue_does_not_bound_what_waits(world: World):
    _, client = world.connected({'qos.depth': 3})
    for t in range(200):
        client.ask(at(t / 10), 0.8)
    client.wait_for_figure('pending predictions', 200)
    client.label(at(0), 0)
    client.wait_for_figure('updates', 1)


def test_a_small_capacity_does_not_bound_the_queue(world: World):
    """A burst is answered in full, though few of it may wait for a label."""
    _, client = world.connected({'match.capacity': 3})
    predict_all(client, [at(t / 10) for t in range(BATCH)])
    client.wait_for_figure('pending predictions', 3)
    client.label(at((BATCH - 1) / 10), 0)
    client.wait_for_figure('updates', 1)
