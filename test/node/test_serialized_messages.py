# SPDX-License-Identifier: Apache-2.0
"""Messages as rclpy serializes them are read in their bytes as their objects are."""

from __future__ import annotations

import importlib
from random import Random
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from stream.plain_cdr import serialize
from stream.random_types import random_layout, random_value
from stream.test_serialized_reader import VALUES, broken, outcome

from calib_node.core.refusal import Refused
from calib_node.ros.messages import InstalledMessages, find_type
from calib_node.stream.cdr.reader import Place, SerializedReader
from calib_node.stream.cdr.wire import Unsupported
from calib_node.stream.columns import VALUE, Column, Form, Layout
from calib_node.stream.object_reader import ObjectReader
from calib_node.stream.paths import check_path

MESSAGES = InstalledMessages()
PACKAGES = ('std_msgs', 'geometry_msgs', 'diagnostic_msgs', 'rcl_interfaces')
BUILT = ('vision_msgs', 'calib_test_shapes')
OTHERS = ('sensor_msgs', 'nav_msgs')
SEEDS = 4
FINITE = [value for value in VALUES if value < 1e30]


def types_of(package: str) -> list[str]:
    module = importlib.import_module(f'{package}.msg')
    return [f'{package}/{name}' for name, kind in vars(module).items() if isinstance(kind, type)]


def by_object(layout: Layout, data: bytes) -> Any:
    try:
        message = deserialize_message(data, find_type(layout.type_name))
    except Exception as error:
        raise Refused('undecodable', error) from None
    return ObjectReader(layout).read(message)


@pytest.mark.parametrize('package', [*PACKAGES, *BUILT, *OTHERS])
def test_messages_of_a_package(package):
    pytest.importorskip(f'{package}.msg', reason=f'{package} is not installed')
    read = 0
    for type_name in types_of(package):
        for seed in range(SEEDS):
            random = Random(f'{type_name} {seed}')
            layout = random_layout(random, MESSAGES, type_name, ())
            if layout is None:
                continue
            try:
                reader = SerializedReader(MESSAGES, layout)
            except Unsupported:
                continue
            check(random, reader)
            read += 1
    assert read


def check(random: Random, reader: SerializedReader) -> None:
    layout = reader.layout
    type_name, kind = layout.type_name, find_type(layout.type_name)
    drawn = random_value(random, MESSAGES, type_name)
    by_the_book = serialize(MESSAGES, type_name, drawn)
    # Padding may hold anything, in the middle and after the end.
    padded = serialize(MESSAGES, type_name, drawn, padding=255)
    told = [place for place, byte in enumerate(by_the_book) if byte == padded[place]]

    def without_padding(data: bytes) -> bytes:
        return bytes(data[place] for place in told)

    message = deserialize_message(by_the_book, kind)
    data = serialize_message(message)
    assert without_padding(data) == without_padding(by_the_book)

    wanted = outcome(lambda data: by_object(layout, data), data)
    assert outcome(reader.read, data) == wanted
    if not isinstance(wanted, str):
        columns = reader.read(data)
        assert isinstance(columns.carrier, Place)
        values = np.array([random.choice(FINITE) for _ in range(columns.count)])
        which = np.array([random.random() < 0.7 for _ in range(columns.count)], bool)
        if columns.absent is not None:
            which &= ~columns.absent
        objects = ObjectReader(layout)
        changed = serialize_message(objects.write(objects.read(message), values, which))
        answer = reader.write(columns, values, which)
        assert without_padding(answer) == without_padding(changed)
    for _ in range(4):
        bad = broken(random, data)
        assert outcome(reader.read, bad) == outcome(lambda data: by_object(layout, data), bad)


def reader(type_name: str, value: str) -> SerializedReader:
    path = check_path(MESSAGES, type_name, value, 'raw.value_field')
    return SerializedReader(MESSAGES, Layout(type_name, (Column(VALUE, path, Form.NUMBER),)))


@pytest.mark.parametrize(
    ('name', 'data'),
    [
        ('Float32MultiArray', [0.25, -1.0, 0.5]),
        ('Float64MultiArray', [0.25, float('inf'), 0.5]),
        ('UInt8MultiArray', [0, 255, 100]),
        ('Int8MultiArray', [-1, 0, 100]),
        ('UInt64MultiArray', [0, 2**64 - 1, 100]),
    ],
)
def test_an_array_of_numbers(name, data):
    kind = find_type(f'std_msgs/{name}')
    array = reader(f'std_msgs/msg/{name}', 'data[]')
    columns = array.read(serialize_message(kind(data=data)))
    assert columns.numbers[VALUE].tolist() == [float(number) for number in data]
    answer = array.write(columns, np.array([9.0, 99.4, 300.0]), np.array([False, True, True]))
    written = list(deserialize_message(answer, kind).data)
    is_float = name.startswith('Float')
    assert written[0] == data[0]
    assert written[1] == pytest.approx(99.4 if is_float else 99, rel=1e-6)
    assert written[2] == {'UInt8MultiArray': 255, 'Int8MultiArray': 127}.get(name, 300)


def test_an_array_that_is_empty():
    kind = find_type('std_msgs/Float64MultiArray')
    array = reader('std_msgs/msg/Float64MultiArray', 'data[]')
    columns = array.read(serialize_message(kind()))
    assert (columns.count, columns.numbers[VALUE].tolist()) == (0, [])
    answer = array.write(columns, np.empty(0), np.empty(0, bool))
    assert deserialize_message(answer, kind) == kind()
