# SPDX-License-Identifier: Apache-2.0
"""The source of a walk, as it is written from a definition."""

from __future__ import annotations

import pytest

from calib_node.stream.cdr.program import Program, Unknown
from calib_node.stream.cdr.wire import Unsupported
from calib_node.stream.columns import VALUE, Column, Form, Layout
from calib_node.stream.object_reader import ObjectReader
from calib_node.stream.paths import check_path
from calib_node.stream.readers import reader_of

from .plain_cdr import Tables

TABLES = Tables(
    {
        'v/Time': {'sec': 'int32', 'nanosec': 'uint32'},
        'v/Header': {'stamp': 'v/Time', 'frame_id': 'string'},
        'v/Score': {'class_id': 'string', 'score': 'double'},
        'v/Result': {'hypothesis': 'v/Score', 'pose': 'double[43]'},
        'v/Detection': {'header': 'v/Header', 'results': 'sequence<v/Result>', 'id': 'string'},
        'v/Detections': {'header': 'v/Header', 'detections': 'sequence<v/Detection>'},
        'v/Joints': {'name': 'sequence<string>', 'position': 'sequence<double>', 'last': 'uint8'},
        'v/Bounded': {'scores': 'sequence<float, 2>', 'name': 'string<3>'},
        'v/Wide': {'score': 'double', 'name': 'wstring'},
        'v/Lost': {'score': 'double', 'other': 'v/Nowhere'},
        'v/Self': {'score': 'double', 'other': 'sequence<v/Self>'},
        'v/Ring': {'score': 'double', 'other': 'v/Ring'},
        'v/Precise': {'score': 'double', 'other': 'long double'},
    }
)


def program(type_name: str, *paths: str) -> Program:
    return Program(
        TABLES, type_name, [check_path(TABLES, type_name, path, 'a').steps for path in paths]
    )


def test_scores_of_detections_with_their_names():
    """Nothing is computed that is known beforehand, and nothing is read that is not wanted."""
    walk = program(
        'v/Detections',
        'detections[].results[].hypothesis.score',
        'detections[].results[].hypothesis.class_id',
        'header.stamp.nanosec',
    )
    assert (
        walk.source
        == '''\
def walk(data, words, size):
    c0 = []
    c1 = []
    c2 = []
    n0 = []
    n1 = []
    p = 0
    c2.append(p + 4)
    p += words[p + 8 >> 2] + 12
    p = p + 3 & -4
    length0 = words[p >> 2]
    n0.append(length0)
    p += 4
    for i0 in range(length0):
        p = p + 3 & -4
        p += words[p + 8 >> 2] + 12
        p = p + 3 & -4
        length1 = words[p >> 2]
        n1.append(length1)
        p += 4
        for i1 in range(length1):
            length = words[p >> 2]
            p += length + 4
            if data[p + 3]: raise Unknown
            c1.append(data[p + 4 - length:p + 3])
            p = p + 7 & -8
            c0.append(p)
            p += 352
        p += words[p >> 2] + 4
    if p > size:
        raise Unknown
    return c0, c1, c2, n0, n1,
'''
    )


def test_regular_arrays_are_passed_in_one_step():
    walk = program('v/Joints', 'position[]', 'last')
    assert (
        walk.source
        == '''\
def walk(data, words, size):
    c0 = []
    c1 = []
    n0 = []
    p = 0
    length0 = words[p >> 2]
    p += 4
    for i0 in range(length0):
        p = p + 3 & -4
        p += words[p >> 2] + 4
    p = p + 3 & -4
    length0 = words[p >> 2]
    n0.append(length0)
    p += 4
    if length0:
        p = p + 7 & -8
        c0.append(p)
        p += length0 * 8
    c1.append(p)
    p += 1
    if p > size:
        raise Unknown
    return c0, c1, n0,
'''
    )
    assert walk.strides == [8, 0]


@pytest.mark.parametrize('name', ['Wide', 'Lost', 'Self', 'Ring', 'Precise'])
def test_what_no_walk_is_written_for_is_read_as_an_object(name):
    type_name = f'v/{name}'
    with pytest.raises(Unsupported):
        program(type_name, 'score')
    path = check_path(TABLES, type_name, 'score', 'a')
    layout = Layout(type_name, (Column(VALUE, path, Form.NUMBER),))
    assert isinstance(reader_of(TABLES, layout), ObjectReader)


def test_elements_told_by_an_array_beside():
    walk = program('v/Joints', 'position[name=elbow]')
    data = b'\0\1\0\0\2\0\0\0\4\0\0\0hip\0\6\0\0\0elbow\0\0\0\2\0\0\0' + bytes(20) + b'\0'
    # The numbers begin at 32, and that of the elbow is the second.
    assert walk.run(data)[0] == [40]


def test_what_is_longer_than_its_bound_is_not_understood():
    walk = program('v/Bounded', 'scores[]')
    two = b'\0\1\0\0\2\0\0\0' + bytes(8)
    assert walk.run(two + b'\4\0\0\0abc\0') == ([4], [2])
    with pytest.raises(Unknown):
        walk.run(two + b'\5\0\0\0abcd\0')
    with pytest.raises(Unknown):
        walk.run(b'\0\1\0\0\3\0\0\0' + bytes(12) + b'\4\0\0\0abc\0')
