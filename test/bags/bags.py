# SPDX-License-Identifier: Apache-2.0
"""Small recordings, sound and otherwise, and the tool that replays them."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from calib_node.bags.definitions import RecordedMessages
from calib_node.tools.replay import main

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
ARRAY = 'std_msgs/msg/Float64MultiArray'
RAW, LABELS = '/raw_probabilities', '/labels'
DELAY = 5


class Recorded(NamedTuple):
    """A message to record."""

    topic: str
    time: int
    data: bytes


def stamped_array(stamp: int, *values: float) -> bytes:
    """Return the bytes of a stamped array."""
    numbers = [*divmod(stamp, SECOND), *values]
    head = b'\x00\x01\x00\x00' + bytes(8) + struct.pack('<I4x', len(numbers))
    return head + struct.pack(f'<{len(numbers)}d', *numbers)


def drive(count: int = 40, start: int = START, seed: int = 1) -> Iterator[Recorded]:
    """Yield predictions ten times a second, and their labels some messages later."""
    chance = random.Random(seed)
    waiting: list[bytes] = []
    for number in range(count):
        stamp = start + number * SECOND // 10
        yield Recorded(RAW, stamp + 1000, stamped_array(stamp, chance.random()))
        waiting.append(stamped_array(stamp, float(chance.random() < 0.6)))
        if len(waiting) > DELAY:
            yield Recorded(LABELS, stamp + 2000, waiting.pop(0))


def record(
    path: Path,
    messages: Iterable[Recorded],
    plugin: str = 'MCAP',
    types: dict[str, str] | None = None,
) -> Path:
    """Write a recording by rosbags."""
    known = RecordedMessages()
    with Writer(path, version=9, storage_plugin=StoragePlugin[plugin]) as writer:
        connections: dict[str, Any] = {}
        for topic, kind in {RAW: ARRAY, LABELS: ARRAY, **(types or {})}.items():
            store = known.store(kind)
            connections[topic] = writer.add_connection(topic, kind, typestore=store)
        for message in messages:
            writer.write(connections[message.topic], message.time, message.data)
    return path


def compressed(path: Path, messages: Iterable[Recorded], plugin: str, mode: str) -> Path:
    """Write a compressed recording by rosbags."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[plugin])
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    store = RecordedMessages().store(ARRAY)
    with writer:
        connections = {t: writer.add_connection(t, ARRAY, typestore=store) for t in (RAW, LABELS)}
        for message in messages:
            writer.write(connections[message.topic], message.time, message.data)
    return path


class Channel(NamedTuple):
    """A channel of a .mcap file that rosbags would not write."""

    type_name: str = ARRAY
    encoding: str = 'cdr'
    definition: str | None = None


def record_mcap(
    path: Path,
    messages: Iterable[Recorded],
    channels: dict[str, Channel] | None = None,
    published: dict[int, int] | None = None,
) -> Path:
    """Write a .mcap file by the library of that format; some were published at other times."""
    from mcap.writer import Writer as McapWriter

    path.parent.mkdir(parents=True, exist_ok=True)
    text, _ = RecordedMessages().store(ARRAY).generate_msgdef(ARRAY, ros_version=2)
    kinds = {RAW: Channel(), LABELS: Channel(), **(channels or {})}
    with path.open('wb') as stream:
        writer = McapWriter(stream, chunk_size=1000)
        writer.start(profile='ros2')
        ids = {}
        for topic, kind in kinds.items():
            data = text if kind.definition is None else kind.definition
            encoding = 'ros2msg' if kind.encoding == 'cdr' else kind.encoding
            schema = writer.register_schema(kind.type_name, encoding, data.encode())
            ids[topic] = writer.register_channel(topic, kind.encoding, schema)
        for topic, time, content in messages:
            writer.add_message(ids[topic], time, content, (published or {}).get(time, time))
        writer.finish()
    return path


def replayed(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, list[str]]:
    """Run calib_replay; return its exit code, what it printed and the sentences of its errors."""
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err.splitlines()


def matched(out: str) -> int:
    """Return how many labels matched, as the tool says."""
    return int(out.split(' matched')[0].rpartition(' ')[2].replace(',', ''))
