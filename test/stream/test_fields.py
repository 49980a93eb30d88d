# SPDX-License-Identifier: Apache-2.0
"""Field paths as they are written, and what a label of a message means."""

from __future__ import annotations

import pytest

from calib_node.core.refusal import Refused
from calib_node.stream.codecs import label_codec
from calib_node.stream.definitions import parse_path
from calib_node.stream.labels import LabelReader
from calib_node.stream.settings import Settings

from .messages import SECOND, Messages, stamped


@pytest.mark.parametrize(
    ('path', 'steps'),
    [
        ('data', ['data']),
        ('header.stamp', ['header', 'stamp']),
        ('results[2].hypothesis.score', ['results', 2, 'hypothesis', 'score']),
        ('data[0][1]', ['data', 0, 1]),
    ],
)
def test_a_path_is_its_steps(path, steps):
    assert parse_path(path) == steps


@pytest.mark.parametrize('path', ['', '.data', 'data.', 'data[x]', '[0]', 'a..b', 'a b', 'a[0'])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match='not a field path'):
        parse_path(path)


def test_a_name_is_a_label_by_the_positive_class():
    read = LabelReader('ground')
    assert (read('ground'), read('wall'), read('Ground')) == (1.0, 0.0, 0.0)
    with pytest.raises(Refused, match='the name of the class is empty'):
        read('')


@pytest.mark.parametrize('classes', [1, 10])
def test_a_label_is_one_value_however_many_classes_there_are(classes):
    settings = Settings.from_mapping({'classes': classes})
    codec = label_codec(Messages(), settings.label, LabelReader(''))
    assert codec.decode(stamped(5 * SECOND + 7, 9))[:2] == (5 * SECOND + 7, 9.0)
    with pytest.raises(Refused, match='3 instead of 1'):
        codec.decode(stamped(5 * SECOND + 7, 0, 0, 1))
