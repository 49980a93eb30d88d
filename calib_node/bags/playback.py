# SPDX-License-Identifier: Apache-2.0
"""The messages of a stream's two inputs, out of recordings and in the order asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from heapq import heappop, heappush, merge
from pathlib import Path
from typing import NamedTuple

from calib_node.bags.definitions import RecordedMessages, full_name
from calib_node.bags.problems import RecordingError
from calib_node.bags.recording import Message, Recording
from calib_node.core.refusal import nearest_name
from calib_node.core.samples import NANOSECONDS
from calib_node.stream.settings import Settings

ORDERS = ('log', 'publish', 'stamp')


@dataclass(frozen=True)
class Source:
    """What is replayed.

    Attributes
    ----------
    recordings : tuple of Path
        Folders or files.
    raw, labels : str
        The topics of the two inputs.
    order : str
        In which messages come: by log time, by publish time, or by the stamps in them.
    together : bool
        Whether the recordings were made at the same time, and are merged; else they are replayed
        one after the other.
    definitions : Path or None
        A folder of .msg files.
    others : bool
        Whether messages of other topics are wanted too, for a copy of the recording.
    """

    recordings: tuple[Path, ...]
    raw: str
    labels: str
    order: str = 'log'
    together: bool = False
    definitions: Path | None = None
    others: bool = False


class Played(NamedTuple):
    """A message as it comes to the stream.

    Attributes
    ----------
    topic : str
    is_label : bool
    time : int
        Log time in nanoseconds; publish time where messages come by that.
    received : int or None
        Its stamp, where that is not in the message.
    data : bytes
    """

    topic: str
    is_label: bool
    time: int
    received: int | None
    data: bytes


class Playback:
    """Opens recordings, and has their messages; to be used in a with statement.

    Parameters
    ----------
    source : Source
        What is replayed.
    settings : Settings
        The stream's parameters.

    Attributes
    ----------
    recordings : list of Recording
    messages : RecordedMessages
        The types there are.
    total : int
        Number of messages, as the files' indexes have it.

    Raises
    ------
    RecordingError
        If there is no recording, no message of one of the topics, or a type is not that of the
        settings; the sentence names the remedy.
    """

    def __init__(self, source: Source, settings: Settings) -> None:
        self.source, self._settings = source, settings
        stampings = (settings.raw.stamping, settings.label.stamping)
        order = 'publish' if source.order == 'publish' else 'log'
        with ExitStack() as end:
            self.recordings = [
                end.enter_context(Recording(path, order, 'publication' in stampings))
                for path in source.recordings
            ]
            distributions = [r.distribution for r in self.recordings if r.distribution]
            self.messages = RecordedMessages(next(iter(distributions), ''), source.definitions)
            self._check(source.raw, settings.raw.type, 'raw')
            self._check(source.labels, settings.label.type, 'label')
            self._end = end.pop_all()
        self.total = sum(
            topic.count
            for recording in self.recordings
            for topic in recording.topics.values()
            if source.others or topic.name in (source.raw, source.labels)
        )

    def __enter__(self) -> Playback:
        return self

    def __exit__(self, *error: object) -> None:
        self._end.close()

    @property
    def problems(self) -> list[str]:
        """What is wrong with the recordings, as far as is known by now."""
        found = [problem for recording in self.recordings for problem in recording.problems]
        for name in (self.source.raw, self.source.labels):
            if not any(r.topics[name].count for r in self.recordings if name in r.topics):
                found.append(
                    f'there is no message on {name} in {self._where()}: if they are in another '
                    'recording, name both and --together'
                )
        return found

    def _check(self, name: str, wanted: str, side: str) -> None:
        """Refuse a topic that is not there, or of another type, and take its definition."""
        found = [(r, r.topics[name]) for r in self.recordings if name in r.topics]
        inputs = {'raw': 'raw_probabilities', 'label': 'labels'}
        if not found:
            topics = [topic for r in self.recordings for topic in r.topics.values()]
            names = sorted({topic.name for topic in topics})
            if not names:
                raise RecordingError(f'{self._where()} is empty: it has no topic at all')
            fitting = sorted({t.name for t in topics if t.type_name == full_name(wanted)})
            of_type = f'of the type {full_name(wanted)} there is'
            shown = f'{of_type} {_listed(fitting)}' if fitting else f'there is {_listed(names)}'
            raise RecordingError(
                f'there is no topic {name} in {self._where()}{nearest_name(name, names)}: name it '
                f'by -r {inputs[side]}:=TOPIC ({shown}), or the recording that has it too, and '
                '--together'
            )
        for recording, topic in found:
            if topic.type_name and topic.type_name != full_name(wanted):
                raise RecordingError(
                    f'{recording.path}: {name} is {topic.type_name}, and {side}.type is '
                    f'{full_name(wanted)}: set {side}.type, or name another topic by '
                    f'-r {inputs[side]}:=TOPIC'
                )
            self.messages.embed(
                full_name(wanted), topic.definition, topic.is_idl, f'{recording.path}: {name}'
            )

    def _where(self) -> str:
        paths = self.source.recordings
        return str(paths[0]) if len(paths) == 1 else f'any of the {len(paths)} recordings'

    def play(self, stamp_of: Callable[[Played], int]) -> Iterator[Played]:
        """Yield the messages in their order.

        Parameters
        ----------
        stamp_of : callable
            Returns the stamp of a message, 0 for none, where they come by these.
        """
        inputs = [self.source.raw, self.source.labels]
        each = [r.messages([*r.topics] if self.source.others else inputs) for r in self.recordings]
        by_publish = self.source.order == 'publish'
        if self.source.together:
            found: Iterator[Message] = merge(*each, key=_publish_time if by_publish else _log_time)
        else:
            found = (message for messages in each for message in messages)
        played = self._played(found, by_publish)
        if self.source.order != 'stamp':
            return played
        return in_stamp_order(played, stamp_of, _window(self._settings))

    def _played(self, found: Iterator[Message], by_publish: bool) -> Iterator[Played]:
        labels = self.source.labels
        stampings = (self._settings.raw.stamping, self._settings.label.stamping)
        for topic, log_time, publish_time, data in found:
            is_label = topic == labels
            stamping, received = stampings[is_label], None
            if stamping == 'publication':
                received = publish_time
            elif stamping == 'arrival':
                received = log_time
            time = publish_time if by_publish and publish_time is not None else log_time
            yield Played(topic, is_label, time, received, data)


def _listed(names: list[str], most: int = 10) -> str:
    return ', '.join([*names[:most], *(['…'] if len(names) > most else [])])


def _log_time(message: Message) -> int:
    return message.log_time


def _publish_time(message: Message) -> int:
    return message.log_time if message.publish_time is None else message.publish_time


def _window(settings: Settings) -> int:
    return round((settings.match.horizon + settings.match.max_disorder) * NANOSECONDS)


def in_stamp_order(
    played: Iterator[Played], stamp_of: Callable[[Played], int], window: int
) -> Iterator[Played]:
    """Yield messages by their stamps, predictions before labels of the same.

    What is more than a window older than the newest comes at once: no label finds it any more.
    Where the stamps jump back by more than that, what waits comes first.

    Parameters
    ----------
    played : iterator of Played
        By their time.
    stamp_of : callable
        Returns the stamp of a message in nanoseconds; 0 for one without.
    window : int
        In nanoseconds.
    """
    waiting: list[tuple[int, bool, int, Played]] = []
    newest = 0
    for number, one in enumerate(played):
        stamp = stamp_of(one) or newest
        if stamp < newest - window and not one.is_label:
            while waiting:
                yield heappop(waiting)[3]
            newest = stamp
        newest = max(newest, stamp)
        heappush(waiting, (stamp, one.is_label, number, one))
        while waiting and waiting[0][0] < newest - window:
            yield heappop(waiting)[3]
    while waiting:
        yield heappop(waiting)[3]
