# SPDX-License-Identifier: Apache-2.0
"""What the messages of an input may be, and what they mean."""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calib_node.core.refusal import Refused
from calib_node.stream.codecs import label_codec, prediction_codec
from calib_node.stream.labels import LabelReader
from calib_node.stream.settings import Settings

from .messages import MS, SECOND, Messages, array_bytes, make, point_stamped, stamped, value_of


def codec(side: str, classes: int = 1, positive_class: str = '', **given: str) -> Any:
    table = {side: given, 'classes': classes, 'positive_class': positive_class}
    settings = Settings.from_mapping(table)
    if side == 'raw':
        return prediction_codec(Messages(), settings)
    return label_codec(Messages(), settings, LabelReader(positive_class))


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ({'type': 'my_msgs/Detection'}, 'raw.value_field must name the field of my_msgs/Detection'),
        ({'type': 'std_msgs/Float32'}, 'has no header: set raw.stamp_field'),
        (
            {'type': 'my_msgs/Detection', 'value_field': 'results[0].class_id'},
            "'results[0].class_id' does not hold a floating point number but string",
        ),
        (
            {'type': 'my_msgs/Detection', 'value_field': 'results[0].rank'},
            'but uint8, so a probability cannot be written back',
        ),
        (
            {'type': 'my_msgs/Detection', 'value_field': 'results[0]'},
            'but my_msgs/Hypothesis',
        ),
        (
            {'type': 'my_msgs/Detection', 'value_field': 'scores'},
            'set the parameter classes to their number',
        ),
        ({'type': 'std_msgs/String', 'stamping': 'arrival'}, 'but string'),
        (
            {
                'type': 'my_msgs/Detections',
                'value_field': 'detections[0].results[0].score',
                'stamp_field': 'stamps',
            },
            'nor [sec, nanosec], but builtin_interfaces/Time[]',
        ),
        (
            {
                'type': 'my_msgs/Detections',
                'value_field': 'detections[0].results[0].score',
                'stamp_field': 'detections[0].header',
            },
            'but std_msgs/Header',
        ),
    ],
)
def test_predictions_that_cannot_be_read(given, words):
    with pytest.raises(ValueError, match=r'.') as error:
        codec('raw', **given)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ('path', 'classes', 'words'),
    [
        ('results[0].score', 3, 'does not hold an array of floating point numbers but double'),
        ('covariance', 3, 'holds 36 numbers, not 3'),
        ('results', 3, 'but my_msgs/Hypothesis[]'),
    ],
)
def test_probabilities_that_cannot_be_read(path, classes, words):
    with pytest.raises(ValueError, match=r'.') as error:
        codec('raw', classes, type='my_msgs/Detection', value_field=path)
    assert words in str(error.value)


@pytest.mark.parametrize('path', ['results', 'covariance', 'results[0]'])
def test_labels_that_cannot_be_read(path):
    with pytest.raises(ValueError, match='a label is a number, a truth value or a name'):
        codec('label', type='my_msgs/Detection', value_field=path)


@pytest.mark.parametrize(
    ('value', 'number'),
    [
        (True, 1.0),
        (0, 0.0),
        (b'\x01', 1.0),
        (b'\x00', 0.0),
        ('True', 1.0),
        ('true', 1.0),
        ('1', 1.0),
        ('False', 0.0),
        ('false', 0.0),
        ('0', 0.0),
        (np.float32(1.0), 1.0),
    ],
)
def test_what_a_label_may_be(value, number):
    assert LabelReader('')(value) == number


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        ('car', 'not_a_number'),
        ('', 'not_a_number'),
        (b'ab', 'not_a_number'),
        (None, 'not_a_number'),
    ],
)
def test_what_no_label_is(value, reason):
    with pytest.raises(Refused) as refused:
        LabelReader('')(value)
    assert refused.value.reason == reason


@pytest.mark.parametrize('classes', [1, 3])
def test_two_valued_array_among_single_ones_keeps_its_place(classes):
    """Its label went to the neighbour, which learned it."""
    good = (0.9,) if classes == 1 else (0.9, 0.05, 0.05)
    stream = make(classes=classes)
    stream.on_prediction(stamped(SECOND + 100 * MS, *good))
    assert stream.on_prediction(stamped(SECOND + 106 * MS, 0.9, 0.1)) is None
    stream.on_label(stamped(SECOND + 106 * MS, 0))
    stream.on_prediction(stamped(SECOND + 300 * MS, *good))
    stream.pipeline.flush()
    assert stream.pipeline.counts.learned == 0
    assert stream.pipeline.counts.without_value == 1


@pytest.mark.parametrize(
    'message',
    [
        b'',
        b'\x00',
        bytes(44),
        array_bytes([1.0]),
        stamped(SECOND, float('inf')),
        None,
        17,
        'text',
        SimpleNamespace(),
    ],
    ids=str,
)
def test_nothing_that_arrives_gets_out_as_an_exception(message):
    for given in (
        {},
        {'raw__type': 'geometry_msgs/PointStamped', 'raw__value_field': 'point.x'},
        {'label__type': 'geometry_msgs/PointStamped', 'label__value_field': 'point.x'},
    ):
        stream = make(**given)
        assert stream.on_prediction(message) is None
        stream.on_label(message)
        assert stream.pipeline.counts.predictions == stream.pipeline.counts.labels == 1
        assert stream.pipeline.calibrator.updates == 0


def test_passed_on_where_refused_predictions_are_to_pass():
    stream = make(on_invalid='pass')
    message = stamped(SECOND, 1.5)
    assert stream.on_prediction(message) is message


def test_value_is_replaced_and_all_else_untouched():
    stream = make()
    for number in range(1, 50):
        stream.on_prediction(stamped(number * SECOND, 0.8))
        stream.on_label(stamped(number * SECOND, 0))
    message = stamped(60 * SECOND, 0.8)
    answer = stream.on_prediction(message)
    assert answer[:-8] == message[:-8]
    assert value_of(answer) == stream.pipeline.calibrator.predict(0.8) < 0.7


def test_one_field_of_a_message_is_replaced():
    stream = make(raw__type='geometry_msgs/PointStamped', raw__value_field='point.x', method='ops')
    stream.on_prediction(point_stamped(SECOND, 0.8))
    stream.on_label(stamped(SECOND, 0))
    message = point_stamped(2 * SECOND, 0.8)
    assert stream.on_prediction(message) is message
    assert message.point.x == pytest.approx(0.76075807, abs=5e-9)


def test_array_of_probabilities_keeps_its_type():
    stream = make(classes=3, raw__type='my_msgs/Detection', raw__value_field='scores')
    message = point_stamped(SECOND, 0.0)
    message.scores = array('f', [0.5, 0.25, 0.25])
    assert stream.on_prediction(message) is message
    assert message.scores.typecode == 'f'
    assert message.scores.tolist() == pytest.approx([0.5, 0.25, 0.25])
    message.scores = array('f')
    assert stream.on_prediction(message) is message
    assert stream.pipeline.counts.no_opinion == 1
