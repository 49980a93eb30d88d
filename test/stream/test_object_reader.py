# SPDX-License-Identifier: Apache-2.0
"""What is read of the objects of a message, and what writing to them leaves as it was."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from calib_node.core.refusal import Refused
from calib_node.stream.columns import Column, Form, Layout
from calib_node.stream.object_reader import ObjectReader, nearest_whole
from calib_node.stream.paths import check_path

from .messages import SECOND, Messages, built, header

NUMBER, TEXT = Form.NUMBER, Form.TEXT


def reader(type_name: str, stamp: tuple[str, str] | None = None, **columns: Any) -> ObjectReader:
    def path(text: str) -> Any:
        return check_path(Messages(), type_name, text, 'a.field')

    return ObjectReader(
        Layout(
            type_name,
            tuple(Column(name, path(text), form) for name, (text, form) in columns.items()),
            (path(stamp[0]), path(stamp[1])) if stamp else None,
        )
    )


def detections(*results: dict[str, float]) -> Any:
    """Return a message with one detection for each table of scores by class."""
    return built(
        'vision_msgs/Detection2DArray',
        header=header(3 * SECOND + 7, 'camera'),
        detections=[
            {
                'id': f'no {number}',
                'bbox': {'size_x': 1.0 + number},
                'results': [
                    {'hypothesis': {'class_id': name, 'score': score}}
                    for name, score in one.items()
                ],
            }
            for number, one in enumerate(results)
        ],
    )


NESTED = reader(
    'vision_msgs/Detection2DArray',
    ('header.stamp.sec', 'header.stamp.nanosec'),
    value=('detections[].results[].hypothesis.score', NUMBER),
    kind=('detections[].results[].hypothesis.class_id', TEXT),
    id=('detections[].id', TEXT),
    width=('detections[].bbox.size_x', NUMBER),
    frame=('header.frame_id', TEXT),
)


def test_two_levels_are_read_each_column_at_its_own():
    columns = NESTED.read(detections({'car': 0.5, 'bus': 0.25}, {}, {'car': 0.125}))
    assert columns.stamp == (3, 7)
    assert (columns.count, columns.sizes, columns.absent) == (3, [2, 0, 1], None)
    assert columns.numbers['value'].tolist() == [0.5, 0.25, 0.125]
    assert columns.texts['kind'] == ['car', 'bus', 'car']
    assert columns.texts['id'] == ['no 0', 'no 1', 'no 2']
    assert columns.numbers['width'].tolist() == [1.0, 2.0, 3.0]
    assert columns.texts['frame'] == ['camera']


def test_only_the_chosen_values_are_written():
    message = detections({'car': 0.5, 'bus': 0.25}, {}, {'car': 0.125})
    wanted = copy.deepcopy(message)
    wanted.detections[0].results[1].hypothesis.score = 0.75
    columns = NESTED.read(message)
    answer = NESTED.write(columns, np.array([9.0, 0.75, 9.0]), np.array([False, True, False]))
    assert answer is message
    assert answer == wanted


def test_a_message_without_objects():
    for message in (detections(), detections({}, {})):
        columns = NESTED.read(message)
        assert columns.count == 0
        assert columns.numbers['value'].shape == (0,)
        assert NESTED.write(columns, np.empty(0), np.empty(0, bool)) == message


def test_an_element_that_is_not_there_is_absent_and_keeps_its_place():
    by_name = reader(
        'vision_msgs/Detection2DArray',
        value=('detections[].results[hypothesis.class_id=car].hypothesis.score', NUMBER),
        second=('detections[].results[1].hypothesis.class_id', TEXT),
        other=('detections[].results[1].hypothesis.score', NUMBER),
    )
    message = detections({'bus': 0.25}, {'bus': 0.25, 'car': 0.5}, {})
    columns = by_name.read(message)
    assert columns.absent is not None
    assert columns.absent.tolist() == [True, False, True]
    np.testing.assert_equal(columns.numbers['value'], [np.nan, 0.5, np.nan])
    assert columns.texts['second'] == ['', 'car', '']
    np.testing.assert_equal(columns.numbers['other'], [np.nan, 0.5, np.nan])
    by_name.write(columns, np.full(3, 0.75), ~columns.absent)
    assert message == detections({'bus': 0.25}, {'bus': 0.25, 'car': 0.75}, {})


def test_a_number_that_is_there_may_be_nan():
    columns = NESTED.read(detections({'car': float('nan')}))
    assert columns.absent is None
    assert np.isnan(columns.numbers['value'][0])


@pytest.mark.parametrize('where', ['detections[1]', 'detections[id=no 1]'])
def test_one_object_of_a_message(where):
    one = reader('vision_msgs/Detection2DArray', value=(f'{where}.bbox.size_x', NUMBER))
    message = detections({}, {})
    columns = one.read(message)
    assert (columns.count, columns.numbers['value'].tolist()) == (1, [2.0])
    one.write(columns, np.array([5.0]), np.array([True]))
    assert [d.bbox.size_x for d in message.detections] == [1.0, 5.0]
    columns = one.read(detections({}))
    assert columns.absent is not None
    assert columns.absent.tolist() == [True]
    one.write(columns, np.array([5.0]), np.array([False]))


def test_each_below_an_element_that_is_not_there():
    below = reader(
        'vision_msgs/Detection2DArray', value=('detections[1].results[].hypothesis.score', NUMBER)
    )
    assert below.read(detections({'car': 0.5})).count == 0
    assert below.read(detections({}, {'car': 0.5, 'bus': 0.25})).count == 2


JOINTS = {
    'stamp': [5, 9],
    'name': ['hip', 'elbow', 'knee'],
    'ok': [False, True, False],
    'position': [0.1, 0.2],
    'percent': [-1, 50, 100],
}


def test_arrays_side_by_side():
    by_index = reader(
        'my_msgs/Joints',
        ('stamp[0]', 'stamp[1]'),
        value=('percent[]', NUMBER),
        kind=('name[]', TEXT),
        ok=('ok[]', NUMBER),
    )
    message = built('my_msgs/Joints', **JOINTS)
    columns = by_index.read(message)
    assert columns.stamp == (5, 9)
    assert columns.numbers['value'].tolist() == [-1.0, 50.0, 100.0]
    assert columns.numbers['ok'].tolist() == [0.0, 1.0, 0.0]
    by_index.write(columns, np.array([0.0, 49.6, 300.0]), np.array([False, True, True]))
    assert message.percent.tolist() == [-1, 50, 127]
    assert message.percent.typecode == 'b'
    message.name.append('toe')
    with pytest.raises(Refused, match=r'different lengths \(percent\[\] and name\[\]'):
        by_index.read(message)


@pytest.mark.parametrize(
    ('path', 'value'),
    [
        ('position[name=elbow]', 0.2),
        ('position[name=hip]', 0.1),
        ('position[name=knee]', None),
        ('position[name=toe]', None),
        ('position[ok=true]', 0.2),
        ('position[percent=50]', 0.2),
    ],
)
def test_an_element_told_by_an_array_beside(path, value):
    one = reader('my_msgs/Joints', value=(path, NUMBER))
    message = built('my_msgs/Joints', **JOINTS)
    columns = one.read(message)
    if value is None:
        assert columns.absent is not None
        assert columns.absent.tolist() == [True]
    else:
        assert columns.numbers['value'].tolist() == [value]
        one.write(columns, np.array([0.75]), np.array([True]))
        assert sorted(message.position.tolist())[-1] == 0.75


TRACKS = [
    {
        'uuid': list(range(16)),
        'bytes': [b'\x01', b'\xff'],
        'label': -3,
        'seen': True,
        'flag': b'\x07',
        'existence': 0.5,
        'percent': 87,
        'corners': [1.0, 2.0, 3.0, 4.0],
        'probabilities': [0.25, 0.75],
    },
    {'probabilities': [1.0]},
]


def test_fields_of_any_type_as_text_and_as_number():
    of_all = reader(
        'my_msgs/Tracks',
        value=('tracks[].percent', NUMBER),
        uuid=('tracks[].uuid', TEXT),
        octets=('tracks[].bytes', TEXT),
        label=('tracks[].label', TEXT),
        seen=('tracks[].seen', TEXT),
        flag=('tracks[].flag', TEXT),
        flag_number=('tracks[].flag', NUMBER),
        corner=('tracks[].corners[3]', NUMBER),
        ids=('ids[]', TEXT),
    )
    message = built('my_msgs/Tracks', tracks=TRACKS, ids=[2**63 + 1, 0])
    columns = of_all.read(message)
    assert columns.texts['uuid'] == ['000102030405060708090a0b0c0d0e0f', '00' * 16]
    assert columns.texts['octets'] == ['01ff', '']
    assert columns.texts['label'] == ['-3', '0']
    assert columns.texts['seen'] == ['true', 'false']
    assert columns.texts['flag'] == ['7', '0']
    assert columns.numbers['flag_number'].tolist() == [7.0, 0.0]
    assert columns.numbers['corner'].tolist() == [4.0, 0.0]
    assert columns.texts['ids'] == ['9223372036854775809', '0']
    of_all.write(columns, np.array([86.5, 0.0]), np.array([True, False]))
    assert [track.percent for track in message.tracks] == [86, 0]


def test_arrays_of_numbers_within_objects():
    inner = reader(
        'my_msgs/Tracks',
        value=('tracks[].probabilities[]', NUMBER),
        label=('tracks[].label', TEXT),
    )
    message = built('my_msgs/Tracks', tracks=TRACKS)
    columns = inner.read(message)
    assert columns.sizes == [2, 1]
    inner.write(columns, np.array([0.5, 0.5, 0.5]), np.array([True, False, True]))
    assert [t.probabilities.tolist() for t in message.tracks] == [[0.5, 0.75], [0.5]]


def test_an_unequal_inner_array_is_refused():
    two = reader(
        'my_msgs/Tracks',
        value=('tracks[].probabilities[]', NUMBER),
        other=('tracks[].bytes[]', TEXT),
    )
    good = {'probabilities': [0.5], 'bytes': [b'\x01']}
    assert two.read(built('my_msgs/Tracks', tracks=[good, good])).texts['other'] == ['1', '1']
    swapped = [{'probabilities': [0.5]}, {'bytes': [b'\x01']}]
    with pytest.raises(Refused, match='different lengths'):
        two.read(built('my_msgs/Tracks', tracks=swapped))


def test_a_stamp_beyond_an_array():
    stamped = reader(
        'vision_msgs/Detection2DArray',
        ('detections[0].header.stamp.sec', 'detections[0].header.stamp.nanosec'),
        value=('detections[].bbox.size_x', NUMBER),
    )
    assert stamped.read(detections({})).stamp == (0, 0)
    with pytest.raises(Refused, match='beyond an array'):
        stamped.read(detections())


@pytest.mark.parametrize(
    ('value', 'whole'),
    [(0.5, 0), (1.5, 2), (254.6, 255), (1e300, 255), (-0.4, 0), (-3.0, 0)],
)
def test_the_nearest_whole_number_within_the_type(value, whole):
    assert nearest_whole(value, 0, 255) == whole
