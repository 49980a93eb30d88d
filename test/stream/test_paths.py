# SPDX-License-Identifier: Apache-2.0
"""Paths are checked to their last step against the definitions, whatever a new message holds."""

from __future__ import annotations

import pytest

from calib_node.stream.definitions import Kind
from calib_node.stream.paths import (
    At,
    Each,
    Field,
    Path,
    Where,
    check_path,
    parse_path,
    same_arrays,
)

from .messages import Messages


def checked(path: str, type_name: str = 'my_msgs/Detections') -> Path:
    return check_path(Messages(), type_name, path, 'raw.value_field')


@pytest.mark.parametrize(
    ('path', 'steps'),
    [
        ('data', (Field('data'),)),
        ('header.stamp', (Field('header'), Field('stamp'))),
        ('data[0][12]', (Field('data'), At(0), At(12))),
        ('a[].b[].c', (Field('a'), Each(), Field('b'), Each(), Field('c'))),
        ('a[b.c=x].d', (Field('a'), Where(('b', 'c'), 'x'), Field('d'))),
        ('a[b=two words: 1.5=]', (Field('a'), Where(('b',), 'two words: 1.5='))),
        ('a[b=]', (Field('a'), Where(('b',), ''))),
        ('a2_.b3', (Field('a2_'), Field('b3'))),
    ],
)
def test_a_path_is_its_steps(path, steps):
    assert parse_path(path) == steps


@pytest.mark.parametrize(
    'path',
    [
        '',
        '.data',
        'data.',
        'data[x]',
        '[0]',
        '[]',
        'a..b',
        'a b',
        'a[0',
        'a[-1]',
        'a[=x]',
        'a[b=]]',
    ],
)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match='is not a field path such as'):
        parse_path(path)


@pytest.mark.parametrize(
    ('type_name', 'path', 'kind'),
    [
        ('geometry_msgs/msg/PointStamped', 'point.x', Kind('double')),
        ('geometry_msgs/PoseArray', 'poses[0].position.x', Kind('double')),
        ('my_msgs/Detections', 'detections[0].results[2].score', Kind('double')),
        ('my_msgs/Detections', 'detections[].results[].score', Kind('double')),
        ('my_msgs/Detections', 'detections[].scores', Kind('float', is_array=True)),
        ('my_msgs/Detections', 'detections[].results[class_id=car].rank', Kind('uint8')),
        ('my_msgs/Detections', 'stamps[1]', Kind('builtin_interfaces/Time')),
        ('my_msgs/Detection', 'covariance[35]', Kind('double')),
        ('my_msgs/Joints', 'position[name=left elbow]', Kind('double')),
        ('my_msgs/Joints', 'limits[3]', Kind('uint8')),
    ],
)
def test_paths_that_lead_somewhere(type_name, path, kind):
    assert checked(path, type_name).kind == kind


@pytest.mark.parametrize(
    ('path', 'words'),
    [
        ('poses[0].x', "has no field 'x' (fields here: position)"),
        ('poses[0].positon.x', "did you mean 'position'?"),
        ('poses[].positon.x', "did you mean 'position'?"),
        ('poses.position', "asks an array for its field 'position'; name the element"),
        ('poses.position', 'or [].position for each'),
        ('poses[0].position.x.y', "has no field 'y' (fields here: none)"),
        ('header[0]', 'has an index where there is no array'),
        ('header[]', 'has [] where there is no array'),
        ('header[stamp=3]', 'has [stamp=3] where there is no array'),
        ('poses[0][1]', 'has an index where there is no array'),
        ('poses[][]', 'has [] where there is no array'),
        ('poses[position.w=3]', "has no field 'w' (fields here: x, y, z)"),
        ('poses[position=3]', "by 'position', which is geometry_msgs/Point and not one value"),
        ('poses[position.x=left]', "compares 'position.x', which is double, with 'left'"),
        ('poses[-1]', 'is not a field path'),
        ('poses..x', 'is not a field path'),
    ],
)
def test_paths_that_lead_nowhere(path, words):
    with pytest.raises(ValueError, match=r'^raw\.value_field: ') as error:
        checked(path, 'geometry_msgs/PoseArray')
    assert words in str(error.value)


@pytest.mark.parametrize(
    ('path', 'words'),
    [
        ('position[nam=elbow]', "has no field 'nam', did you mean 'name'?"),
        ('position[rank=1]', "by 'rank', which is int8 and not an array of names beside"),
        ('position[limits=left]', "compares 'limits', which is uint8, with 'left'"),
        ('limits[4]', 'goes beyond an array of 4'),
    ],
)
def test_elements_of_numbers_are_told_by_an_array_beside(path, words):
    with pytest.raises(ValueError, match=r'.') as error:
        checked(path, 'my_msgs/Joints')
    assert words in str(error.value)


def test_at_most_two_levels():
    definitions = {
        'a/A': {'b': 'sequence<a/B>'},
        'a/B': {'c': 'sequence<a/C>'},
        'a/C': {'d': 'sequence<double>'},
    }

    class Nested:
        def fields(self, name):
            return definitions[name]

    assert check_path(Nested(), 'a/A', 'b[].c[0].d[]', 'raw.value_field').fan_out == 2
    with pytest.raises(ValueError, match=r'3 levels of \[\], and at most 2') as error:
        check_path(Nested(), 'a/A', 'b[].c[].d[]', 'raw.value_field')
    assert 'name one element of the others, such as [0]' in str(error.value)


@pytest.mark.parametrize(
    ('type_name', 'path', 'wanted'),
    [
        ('my_msgs/Detection', 'results[class_id=7].score', '7'),
        ('my_msgs/Detection', 'results[class_id=].score', ''),
        ('my_msgs/Detection', 'results[rank=7].score', 7),
        ('my_msgs/Detection', 'results[score=0.5].rank', 0.5),
        ('my_msgs/Joints', 'position[ok=true]', 1),
        ('my_msgs/Joints', 'position[ok=False]', 0),
    ],
)
def test_what_an_element_is_told_by_is_compared_in_its_own_type(type_name, path, wanted):
    (where,) = [s for s in checked(path, type_name).steps if isinstance(s, Where)]
    assert (where.wanted, type(where.wanted)) == (wanted, type(wanted))
    assert where.beside == (type_name == 'my_msgs/Joints')


def test_levels_and_the_arrays_they_are_of():
    score = checked('detections[].results[].score')
    assert (score.fan_out, score.plain) == (2, None)
    assert checked('detections[0].results[2].score').plain == [
        'detections',
        0,
        'results',
        2,
        'score',
    ]
    assert score.arrays[0] == (Field('detections'),)
    assert same_arrays(score, checked('detections[].header.frame_id'))
    assert same_arrays(score, checked('detections[].results[].class_id'))
    assert same_arrays(score, checked('header.frame_id'))
    assert not same_arrays(score, checked('stamps[].sec'))
    assert not same_arrays(score, checked('detections[].scores[]'))


def test_a_path_goes_on_into_an_array():
    scores = checked('detections[].scores')
    assert scores.each() == checked('detections[].scores[]')
    assert scores.at(1) == checked('detections[].scores[1]')


def test_a_type_that_is_not_there():
    with pytest.raises(ValueError, match=r'^raw\.value_field: there is no message type'):
        checked('x', 'no_msgs/Such')
