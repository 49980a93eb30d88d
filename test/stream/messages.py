# SPDX-License-Identifier: Apache-2.0
"""Messages without ROS: definitions as tables, bytes as the middleware lays them out."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from calib_node.stream.definitions import FLOATS, NAMES, Kind, parse_kind
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level, Status
from calib_node.stream.stream import Stream

from .plain_cdr import deserialize, serialize

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
    'geometry_msgs/Quaternion': {'x': 'double', 'y': 'double', 'z': 'double', 'w': 'double'},
    'geometry_msgs/Vector3': {'x': 'double', 'y': 'double', 'z': 'double'},
    'vision_msgs/ObjectHypothesis': {'class_id': 'string', 'score': 'double'},
    'vision_msgs/ObjectHypothesisWithPose': {'hypothesis': 'vision_msgs/ObjectHypothesis'},
    'vision_msgs/Classification': {
        'header': 'std_msgs/Header',
        'results': 'sequence<vision_msgs/ObjectHypothesis>',
    },
    'vision_msgs/Point2D': {'x': 'double', 'y': 'double'},
    'vision_msgs/Pose2D': {'position': 'vision_msgs/Point2D', 'theta': 'double'},
    'vision_msgs/BoundingBox2D': {
        'center': 'vision_msgs/Pose2D',
        'size_x': 'double',
        'size_y': 'double',
    },
    'vision_msgs/BoundingBox3D': {
        'center': 'geometry_msgs/Pose',
        'size': 'geometry_msgs/Vector3',
    },
    'vision_msgs/Detection2D': {
        'header': 'std_msgs/Header',
        'results': 'sequence<vision_msgs/ObjectHypothesisWithPose>',
        'bbox': 'vision_msgs/BoundingBox2D',
        'id': 'string',
    },
    'vision_msgs/Detection2DArray': {
        'header': 'std_msgs/Header',
        'detections': 'sequence<vision_msgs/Detection2D>',
    },
    'vision_msgs/Detection3D': {
        'header': 'std_msgs/Header',
        'results': 'sequence<vision_msgs/ObjectHypothesisWithPose>',
        'bbox': 'vision_msgs/BoundingBox3D',
        'id': 'string',
    },
    'vision_msgs/Detection3DArray': {
        'header': 'std_msgs/Header',
        'detections': 'sequence<vision_msgs/Detection3D>',
    },
    'my_msgs/Track': {
        'uuid': 'uint8[16]',
        'bytes': 'sequence<octet>',
        'label': 'int8',
        'seen': 'boolean',
        'flag': 'octet',
        'existence': 'float',
        'percent': 'uint8',
        'place': 'geometry_msgs/Point',
        'corners': 'float[4]',
        'probabilities': 'sequence<float>',
    },
    'my_msgs/Tracks': {
        'stamp': 'builtin_interfaces/Time',
        'tracks': 'sequence<my_msgs/Track>',
        'ids': 'sequence<uint64>',
    },
    'my_msgs/Joints': {
        'stamp': 'int64[2]',
        'name': 'sequence<string>',
        'ok': 'sequence<boolean>',
        'position': 'sequence<double>',
        'limits': 'uint8[4]',
        'percent': 'sequence<int8>',
        'rank': 'int8',
    },
    'my_msgs/Detections': {
        'header': 'std_msgs/Header',
        'detections': 'sequence<my_msgs/Detection>',
        'stamps': 'sequence<builtin_interfaces/Time>',
    },
}


# How rclpy holds arrays of numbers.
CODES = {
    'float': 'f',
    'double': 'd',
    **{
        f'{sign}int{bits}': code.upper() if sign else code
        for sign in ('', 'u')
        for bits, code in ((8, 'b'), (16, 'h'), (32, 'i'), (64, 'q'))
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
        if type_name.endswith('/Float64MultiArray'):
            return unpacked
        return lambda message: deserialize(self, type_name, message)


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


def built(type_name: str, **given: Any) -> Any:
    """Return a message object as rclpy makes it, nested ones given as tables."""
    fields = Messages().fields(type_name)
    assert set(given) <= set(fields), given
    values = {name: _field(parse_kind(kind), given.get(name)) for name, kind in fields.items()}
    return SimpleNamespace(**values)


def _field(kind: Kind, given: Any) -> Any:
    if kind.is_message:
        if kind.is_array:
            return [built(kind.name, **one) for one in given or []]
        return built(kind.name, **(given or {}))
    if kind.is_array:
        values = given if given is not None else [_zero(kind.name)] * (kind.size or 0)
        code = CODES.get(kind.name)
        if code is None:
            return list(values)
        return np.array(values, code) if kind.size else array(code, values)
    return _zero(kind.name) if given is None else given


def _zero(name: str) -> Any:
    if name in NAMES:
        return ''
    if name == 'octet':
        return b'\x00'
    return False if name == 'boolean' else 0.0 if name in FLOATS else 0


def sent(type_name: str, **given: Any) -> bytes:
    """Return the bytes of a message as of `built`."""
    return serialize(Messages(), type_name, built(type_name, **given))


def heard(type_name: str, message: bytes) -> Any:
    """Return the object of the bytes of a message."""
    return deserialize(Messages(), type_name, message)


def header(stamp: int, frame: str = '') -> dict[str, Any]:
    sec, nanosec = divmod(stamp, SECOND)
    return {'stamp': {'sec': sec, 'nanosec': nanosec}, 'frame_id': frame}


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
