# SPDX-License-Identifier: Apache-2.0
"""The types of fields, and plain paths that are followed."""

from __future__ import annotations

import pytest

from calib_node.stream.definitions import Kind, follow, parse_kind

from .messages import point_stamped


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


def test_following_a_path():
    message = point_stamped(0, 0.5)
    assert follow(message, ['point', 'x']) == 0.5
    message.list = [1.0]
    with pytest.raises(IndexError):
        follow(message, ['list', 1])
