# SPDX-License-Identifier: Apache-2.0
"""The files that a recording consists of: what topics one holds, and its messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from io import SEEK_END
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.interfaces import MessageDefinitionFormat
from rosbags.rosbag2.storage_mcap import McapReader
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader

from calib_node.bags.definitions import full_name
from calib_node.bags.problems import RecordingError, one_line

SUFFIXES = ('.mcap', '.db3')


@dataclass(frozen=True)
class Topic:
    """A topic of a recording.

    Attributes
    ----------
    name : str
    type_name : str
        As ``package/msg/Type``.
    count : int
        Number of messages that the file's index says there are.
    encoding : str
        Serialization format, cdr for what ROS 2 writes.
    definition : str
        That of the type where the file holds it.
    is_idl : bool
        Whether that is IDL.
    digest : str
        Hash of the definition, RIHS01, where there is one.
    qos : tuple
        QoS profiles of its publishers, as rosbags has them.
    """

    name: str
    type_name: str
    count: int
    encoding: str = 'cdr'
    definition: str = ''
    is_idl: bool = False
    digest: str = ''
    qos: tuple[Any, ...] = ()


class Message(NamedTuple):
    """A recorded message.

    Attributes
    ----------
    topic : str
    log_time : int
        When it was recorded, in nanoseconds.
    publish_time : int or None
        When it was published; None where the storage does not tell.
    data : bytes
        Serialized.
    """

    topic: str
    log_time: int
    publish_time: int | None
    data: bytes


class SoundFile:
    """A file as rosbags reads it: by its index, in the order of log time.

    Parameters
    ----------
    path : Path
        Of a .mcap or .db3 file.
    shown : Path
        The path to be spoken of: that of the file which it was decompressed from.

    Raises
    ------
    Exception
        Whatever rosbags has for a file that it cannot read.
    """

    keeps_publish_times = False

    def __init__(self, path: Path, shown: Path) -> None:
        kind: Any = McapReader if path.suffix == '.mcap' else Sqlite3Reader
        self.path = shown
        self.problem = ''
        self._storage = kind(path)
        self._storage.open()
        self.topics = [_topic(connection) for connection in self._storage.connections]

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Yield the messages of some topics."""
        chosen = [c for c in self._storage.connections if absolute(c.topic) in names]
        if not chosen:
            return
        topics = {c.id: absolute(c.topic) for c in chosen}
        for connection, time, data in self._storage.messages(chosen):
            yield Message(topics[connection.id], time, None, data)

    def close(self) -> None:
        """Close the file."""
        self._storage.close()


def absolute(topic: str) -> str:
    """Return the name of a topic with the slash that some recorders leave out."""
    return topic if topic.startswith('/') else f'/{topic}'


def _topic(connection: Any) -> Topic:
    text = connection.msgdef
    return Topic(
        absolute(connection.topic),
        full_name(connection.msgtype),
        connection.msgcount,
        connection.ext.serialization_format or 'cdr',
        text.data,
        text.format == MessageDefinitionFormat.IDL,
        connection.digest or '',
        tuple(connection.ext.offered_qos_profiles),
    )


class McapFile:
    """A .mcap file as the library of that format reads it.

    It has the publish times, and reads what rosbags does not: files with channels of other
    encodings, and, record after record, files whose end is missing.

    Parameters
    ----------
    path, shown : Path
        As of `SoundFile`.
    order : str
        log or publish: the order in which messages come, in a sound file.
    """

    keeps_publish_times = True

    def __init__(self, path: Path, shown: Path, order: str = 'log') -> None:
        self.path = shown
        self.problem = ''
        self._by_publish = order == 'publish'
        self._stream = path.open('rb')
        try:
            self._is_whole = self._read_summary()
        except BaseException:
            self.close()
            raise

    def _read_summary(self) -> bool:
        """Read the topics, of a damaged file by all that is whole; return whether it is sound."""
        reader_module = import_mcap(self.path)
        try:
            summary = reader_module.make_reader(self._stream).get_summary()
        except Exception:
            summary = None
        if summary is not None and summary.statistics is not None:
            counts = summary.statistics.channel_message_counts
            channels, schemas = summary.channels, summary.schemas
            self.topics = _channels(channels, schemas, counts)
            self._own_names = {channel.topic for channel in channels.values()}
            return True
        channels, schemas, counts = {}, {}, {}
        for schema, channel, _ in self._recovered():
            channels[channel.id] = channel
            if schema is not None:
                schemas[schema.id] = schema
            counts[channel.id] = counts.get(channel.id, 0) + 1
        self.topics = _channels(channels, schemas, counts)
        return False

    def _recovered(self) -> Iterator[Any]:
        """Yield what is whole of a file, and note where it ends."""
        reader_module = import_mcap(self.path)
        self._stream.seek(0)
        reader = reader_module.NonSeekingReader(self._stream)
        count = 0
        try:
            for found in reader.iter_messages(log_time_order=False):
                count += 1
                yield found
        except GeneratorExit:
            raise
        except Exception as error:
            read = self._stream.tell()
            size = self._stream.seek(0, SEEK_END)
            self.problem = (
                f'{self.path} is damaged or unfinished ({one_line(error)}): {count} whole messages '
                f'were read, up to byte {min(read, size)} of {size}; `mcap recover` makes a sound '
                'file of it'
            )
            return
        self.problem = (
            f'{self.path} has no index, as of a recording that was not ended in order: all {count} '
            'whole messages were read'
        )

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Yield the messages of some topics."""
        if self._is_whole:
            own = [t for t in self._own_names if absolute(t) in names]
            found = import_mcap(self.path).make_reader(self._stream).iter_messages(own)
        else:
            found = (m for m in self._recovered() if absolute(m[1].topic) in names)
        if self._by_publish:
            found = in_publish_order(found)
        for _, channel, message in found:
            topic = absolute(channel.topic)
            yield Message(topic, message.log_time, message.publish_time, message.data)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


PUBLISH_WINDOW = 10_000_000_000
"""Nanoseconds that a message may be recorded late, and still come in its turn."""


def in_publish_order(found: Iterator[Any]) -> Iterator[Any]:
    """Yield what comes in the order of log time by publish time."""
    waiting: list[Any] = []
    for number, one in enumerate(found):
        message = one[2]
        heappush(waiting, (message.publish_time, number, one))
        while waiting and waiting[0][0] < message.log_time - PUBLISH_WINDOW:
            yield heappop(waiting)[2]
    while waiting:
        yield heappop(waiting)[2]


def _channels(channels: Any, schemas: Any, counts: Any) -> list[Topic]:
    topics = []
    for channel in channels.values():
        schema = schemas.get(channel.schema_id)
        topics.append(
            Topic(
                absolute(channel.topic),
                full_name(schema.name) if schema is not None else '',
                counts.get(channel.id, 0),
                channel.message_encoding or 'cdr',
                schema.data.decode(errors='replace') if schema is not None else '',
                schema is not None and schema.encoding == 'ros2idl',
            )
        )
    return topics


def import_mcap(path: Path) -> Any:
    """Return the module that reads .mcap files record by record."""
    try:
        import mcap.reader
    except ImportError:
        raise RecordingError(
            f'{path} needs the library mcap to be read: pip install calib_node[replay]'
        ) from None
    return mcap.reader
