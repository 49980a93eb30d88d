# SPDX-License-Identifier: Apache-2.0
"""What would be read of recordings, what would match, and what to set where little does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from calib_node.bags.definitions import full_name
from calib_node.bags.driver import Driver
from calib_node.bags.playback import Playback, Played, Source
from calib_node.bags.problems import RecordingError
from calib_node.bags.recording import Recording
from calib_node.bags.replay import replay
from calib_node.bags.storage import Topic
from calib_node.core.frame_pipeline import FramePipeline
from calib_node.core.samples import NANOSECONDS
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level

NEAR_A_DATE = 10**9 * NANOSECONDS
"""Stamps beyond this are shown as dates: those of a simulation count from its start."""


def look(source: Source, settings: Settings) -> Iterator[str]:
    """Yield lines on the recordings, their topics and what would become of the messages.

    Raises
    ------
    RecordingError, ValueError
        After the lines on what there is, where the recordings could not be replayed.
    """
    for path in source.recordings:
        with Recording(path) as recording:
            yield from _topics(recording, source, settings)
    with Playback(source, settings) as playback:
        driver = Driver(settings, playback.messages, _hear_nothing)
        stamps = _Stamps(driver)
        replay(driver, playback, on_message=stamps)
        yield ''
        for name, role in ((source.raw, 'predictions'), (source.labels, 'labels')):
            yield f'{role:12} {stamps.describe(name)}'
        yield from _matches(driver)
        yield from playback.problems


def _hear_nothing(level: Level, kind: str, sentence: str) -> None:
    pass


def _topics(recording: Recording, source: Source, settings: Settings) -> Iterator[str]:
    yield str(recording.path)
    wanted = {source.raw: settings.raw.type, source.labels: settings.label.type}
    inputs = {source.raw: 'raw_probabilities', source.labels: 'labels'}
    width = max((len(name) for name in recording.topics), default=0)
    for name, topic in sorted(recording.topics.items()):
        role = f'  <- {inputs[name]}' if name in inputs else _candidate(topic, wanted, recording)
        encoding = '' if topic.encoding == 'cdr' else f' ({topic.encoding})'
        yield f'  {name:{width}}  {topic.count:9,}  {topic.type_name}{encoding}{role}'
    if not recording.topics:
        yield '  holds no topic'


def _candidate(topic: Topic, wanted: dict[str, str], recording: Recording) -> str:
    """Return what a topic may be, where one of our inputs is not there under its name."""
    for name, kind in wanted.items():
        if name not in recording.topics and topic.type_name == full_name(kind):
            return '  (of the type of an input that is not there)'
    return ''


class _Stamps:
    """Sees the stamps of the messages of two topics."""

    def __init__(self, driver: Driver) -> None:
        self._stamp_of = driver.stamp_of
        self._seen: dict[str, list[int]] = {}

    def __call__(self, played: Played, answer: bytes | None) -> None:
        stamp = self._stamp_of(played)
        seen = self._seen.setdefault(played.topic, [0, 0, 0, 0, 0])
        seen[0] += 1
        if not stamp:
            seen[1] += 1
            return
        seen[2] = min(seen[2] or stamp, stamp)
        seen[3] = max(seen[3], stamp)
        seen[4] += played.time - stamp

    def describe(self, topic: str) -> str:
        """Return what the stamps of a topic are, in words."""
        if topic not in self._seen:
            return 'none'
        count, zero, first, last, late = self._seen[topic]
        if zero == count:
            return f'{count:,}, none with a stamp'
        after = late / (count - zero) / NANOSECONDS
        return (
            f'{count:,}, stamps from {_shown(first)} to {_shown(last)}'
            + (f', recorded {after:.3f} s after them on average' if abs(after) < 1e6 else '')
            + (f', {zero:,} without a stamp' if zero else '')
        )


def _shown(stamp: int) -> str:
    if stamp < NEAR_A_DATE:
        return f'{stamp / NANOSECONDS:.3f} s'
    moment = datetime.fromtimestamp(stamp // NANOSECONDS, timezone.utc)
    return f'{moment:%Y-%m-%d %H:%M:%S}.{stamp % NANOSECONDS // 1_000_000:03d} UTC'


def _matches(driver: Driver) -> Iterator[str]:
    stream = driver.stream
    counts, status = stream.pipeline.matcher.counts, stream.status()
    labels = stream.pipeline.counts.labels
    share = f' ({counts.matched / labels:.1%})' if labels else ''
    what = f'{counts.matched:,} of {labels:,} labels{share}'
    if isinstance(stream.pipeline, FramePipeline):
        # Of boxes and centres a message of labels tells of objects that it does not hold, too.
        own = stream.pipeline.counts
        objects = own.learned + own.held_back + own.failed_updates
        what = f'{objects:,} objects by {labels:,} labels, {own.missed:,} of which find none'
    yield (
        f'{"would match":12} {what}; {counts.unmatched:,} without a prediction, '
        f'{counts.duplicate:,} duplicates'
    )
    refused = sum(stream.pipeline.counts.refused.values())
    if refused:
        yield f'{"refused":12} {refused:,} messages or objects'
    for level, sentence in status.findings:
        if level != Level.STALE:
            yield f'{level.name}: {sentence}'
    for note in status.notes:
        yield f'note: {note}'
    if not labels:
        raise RecordingError('there is no label, so that nothing would be learned')
