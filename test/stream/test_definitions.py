# SPDX-License-Identifier: Apache-2.0
"""Paths are checked to their last step against the definitions, whatever a new message holds."""

from __future__ import annotations

import pytest

from calib_node.stream.definitions import Kind, check_path, follow, parse_kind

from .messages import Messages, point_stamped


@pytest.mark.parametrize(
    ('text', 'kind'),
    [
        ('double', Kind('double')),
        ('sequence<double>', Kind('double', is_array=True)),
        ('sequence<my_msgs/Hypothesis, 5>', Kind('my_msgs/Hypothesis', is_array=True)),
        ('double[36]', Kind('double', is_array=True, size=36)),
        ('string<10>', Kind('string')),
        ('sequence<wstring<10>>', Kind('wstring', is_array=True)),
        ('builtin_interfaces/Time', Kind('builtin_interfaces/Time')),
    ],
)
def test_types_of_fields(text, kind):
    assert parse_kind(text) == kind


@pytest.mark.parametrize(
    ('type_name', 'path', 'steps', 'kind'),
    [
        ('geometry_msgs/msg/PointStamped', 'point.x', ['point', 'x'], Kind('double')),
        (
            'geometry_msgs/PoseArray',
            'poses[0].position.x',
            ['poses', 0, 'position', 'x'],
            Kind('double'),
        ),
        (
            'my_msgs/Detections',
            'detections[0].results[2].score',
            ['detections', 0, 'results', 2, 'score'],
            Kind('double'),
        ),
        ('my_msgs/Detection', 'covariance[35]', ['covariance', 35], Kind('double')),
        ('my_msgs/Detections', 'stamps[1]', ['stamps', 1], Kind('builtin_interfaces/Time')),
    ],
)
def test_paths_that_lead_somewhere(type_name, path, steps, kind):
    assert check_path(Messages(), type_name, path, 'raw.value_field') == (steps, kind)


@pytest.mark.parametrize(
    ('path', 'words'),
    [
        ('poses[0].x', "has no field 'x' (fields here: position)"),
        ('poses[0].positon.x', "did you mean 'position'?"),
        ('poses.position', "asks an array for its field 'position'; name the element"),
        ('poses[0].position.x.y', "has no field 'y' (fields here: none)"),
        ('header[0]', 'has an index where there is no array'),
        ('poses[0][1]', 'has an index where there is no array'),
        ('poses[-1]', 'is not a field path'),
        ('poses..x', 'is not a field path'),
        ('', 'is not a field path'),
    ],
)
def test_paths_that_lead_nowhere(path, words):
    with pytest.raises(ValueError, match=r'^raw\.value_field: ') as error:
        check_path(Messages(), 'geometry_msgs/PoseArray', path, 'raw.value_field')
    assert words in str(error.value)


def test_an_array_of_fixed_size_has_an_end():
    with pytest.raises(ValueError, match='goes beyond an array of 36'):
        check_path(Messages(), 'my_msgs/Detection', 'covariance[36]', 'raw.value_field')


def test_a_type_that_is_not_there():
    with pytest.raises(ValueError, match='no message type'):
        check_path(Messages(), 'no_msgs/Such', 'x', 'raw.value_field')


def test_following_a_path():
    message = point_stamped(0, 0.5)
    assert follow(message, ['point', 'x']) == 0.5
    message.list = [1.0]
    with pytest.raises(IndexError):
        follow(message, ['list', 1])
