# SPDX-License-Identifier: Apache-2.0
"""Messages without ROS: definitions as tables, bytes as the middleware lays them out."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from calib_node.stream.settings import Settings
from calib_node.stream.status import Level, Status
from calib_node.stream.stream import Stream

MS = 1_000_000
SECOND = 1000 * MS

DEFINITIONS = {
    'builtin_interfaces/Time': {'sec': 'int32', 'nanosec': 'uint32'},
    'std_msgs/Header': {'stamp': 'builtin_interfaces/Time', 'frame_id': 'string'},
    'std_msgs/Float64MultiArray': {
        'layout': 'std_msgs/MultiArrayLayout',
        'data': 'sequence<double>',
    },
    'std_msgs/Bool': {'data': 'boolean'},
    'std_msgs/Byte': {'data': 'octet'},
    'std_msgs/Float32': {'data': 'float'},
    'std_msgs/String': {'data': 'string'},
    'std_msgs/Int32': {'data': 'int32'},
    'std_msgs/Header64': {'data': 'std_msgs/Header'},
    'geometry_msgs/Point': {'x': 'double', 'y': 'double', 'z': 'double'},
    'geometry_msgs/Pose': {'position': 'geometry_msgs/Point'},
    'geometry_msgs/PointStamped': {'header': 'std_msgs/Header', 'point': 'geometry_msgs/Point'},
    'geometry_msgs/PoseArray': {
        'header': 'std_msgs/Header',
        'poses': 'sequence<geometry_msgs/Pose>',
    },
    'my_msgs/Hypothesis': {'class_id': 'string', 'score': 'double', 'rank': 'uint8'},
    'my_msgs/Detection': {
        'header': 'std_msgs/Header',
        'results': 'sequence<my_msgs/Hypothesis, 5>',
        'covariance': 'double[36]',
        'scores': 'sequence<float>',
    },
    'my_msgs/Joints': {
        'stamp': 'int64[2]',
        'name': 'sequence<string>',
        'ok': 'sequence<boolean>',
        'position': 'sequence<double>',
        'limits': 'uint8[4]',
        'rank': 'int8',
    },
    'my_msgs/Detections': {
        'header': 'std_msgs/Header',
        'detections': 'sequence<my_msgs/Detection>',
        'stamps': 'sequence<builtin_interfaces/Time>',
    },
}


class Messages:
    """The types of `DEFINITIONS`; what is not laid out as known cannot be read."""

    def fields(self, type_name: str) -> Mapping[str, str]:
        name = type_name.replace('/msg/', '/')
        if name not in DEFINITIONS:
            raise ValueError(f'there is no message type {type_name!r} here')
        return DEFINITIONS[name]

    def deserializer(self, type_name: str) -> Any:
        return unpacked


def stamped(stamp: int, *values: float) -> bytes:
    """Return the bytes of a stamped array."""
    return array_bytes([*divmod(stamp, SECOND), *values])


def array_bytes(data: Iterable[float]) -> bytes:
    """Return the bytes of a Float64MultiArray without a layout."""
    numbers = [float(number) for number in data]
    head = b'\x00\x01\x00\x00' + bytes(8) + struct.pack('<I', len(numbers)) + bytes(4)
    return head + struct.pack(f'<{len(numbers)}d', *numbers)


def unpacked(message: bytes) -> Any:
    """Return the object of those bytes."""
    count = struct.unpack_from('<I', message, 12)[0]
    data = list(struct.unpack_from(f'<{count}d', message, 20))
    return SimpleNamespace(layout=SimpleNamespace(data_offset=0, dim=[]), data=data)


def value_of(message: bytes) -> float:
    """Return the last number of an array."""
    number: float = struct.unpack('<d', message[-8:])[0]
    return number


def point_stamped(stamp: int, x: float) -> Any:
    sec, nanosec = divmod(stamp, SECOND)
    time = SimpleNamespace(sec=sec, nanosec=nanosec)
    return SimpleNamespace(header=SimpleNamespace(stamp=time), point=SimpleNamespace(x=x))


class Told(list):
    """What a stream told at once."""

    def __call__(self, level: Level, kind: str, sentence: str) -> None:
        self.append((level, sentence))


def make(**given: Any) -> Stream:
    """Return a stream with these parameters, dots written as two underscores."""
    settings = {'state.enabled': False}
    settings |= {name.replace('__', '.'): value for name, value in given.items()}
    return Stream(Settings.from_mapping(settings), Messages(), Told())


def said(status: Status, *words: str) -> str:
    """Return the first finding or note that holds all the words, or an empty text."""
    sentences = [sentence for _, sentence in status.findings] + status.notes
    return next((s for s in sentences if all(word in s for word in words)), '')
