# SPDX-License-Identifier: Apache-2.0
"""What numbers and labels mean where a message holds one object."""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import Any

import pytest

from calib_node.stream.stream import Stream

from .messages import SECOND, make, point_stamped, said, stamped, value_of


def learned(stream: Stream, raw: float, label: float, times: int = 30) -> bytes:
    """Return what is published once a prediction was labelled so many times."""
    answer = b''
    for number in range(1, times + 1):
        answer = stream.on_prediction(stamped(number * SECOND, raw))
        stream.on_label(stamped(number * SECOND, label))
    return answer


def test_percent_in_a_stamped_array_comes_back_in_percent():
    percent = make(raw__scale=[0, 100], raw__no_opinion=[-1.0])
    plain = make()
    answer = value_of(learned(percent, 75.0, 0))
    assert answer == 100.0 * value_of(learned(plain, 0.75, 0))
    assert answer < 70.0
    unsure = stamped(99 * SECOND, -1.0)
    assert percent.on_prediction(unsure) == unsure
    assert percent.pipeline.counts.no_opinion == 1
    assert percent.on_prediction(stamped(100 * SECOND, 101.0)) is None


def test_log_odds_come_back_as_log_odds():
    stream = make(raw__link='logit')
    assert value_of(stream.on_prediction(stamped(SECOND, 1.5))) == pytest.approx(1.5)
    assert value_of(learned(stream, 1.5, 0)) < 0.5
    assert stream.on_prediction(stamped(99 * SECOND, float('inf'))) is None


def test_nan_may_be_no_opinion():
    stream = make(raw__nan='no_opinion')
    message = stamped(SECOND, float('nan'))
    assert stream.on_prediction(message) == message
    assert stream.pipeline.counts.refused == {}
    assert make().on_prediction(message) is None


def test_scales_of_several_classes():
    stream = make(classes=2, raw__scale=[0, 255], raw__no_opinion=[-1])
    answer = stream.on_prediction(stamped(SECOND, 51.0, 204.0))
    assert value_of(answer) == pytest.approx(204.0)
    nothing = stamped(2 * SECOND, -1.0, 204.0)
    assert stream.on_prediction(nothing) == nothing


def test_a_whole_number_is_rounded_to_the_nearest():
    kind = {'raw__type': 'my_msgs/Joints', 'raw__stamping': 'arrival'}
    stream = make(raw__value_field='rank', raw__scale=[-100, 100], **kind)
    message: Any = SimpleNamespace(rank=50)
    assert stream.on_prediction(message, SECOND) is message
    assert message.rank == 50
    for number in range(2, 30):
        stream.on_label(stamped((number - 1) * SECOND, 0))
        message.rank = 50
        stream.on_prediction(message, number * SECOND)
    wanted = -100.0 + 200.0 * stream.pipeline.calibrator.predict(0.75)
    assert (message.rank, type(message.rank)) == (round(wanted), int)


def test_whole_numbers_of_several_classes():
    stream = make(
        classes=2, raw__type='my_msgs/Joints', raw__stamping='arrival', raw__scale=[0, 100],
        raw__value_field='percent',
    )  # fmt: skip
    message: Any = SimpleNamespace(percent=array('b', [33, 67]))
    assert stream.on_prediction(message, SECOND) is message
    assert message.percent == array('b', [33, 67])


def test_lists_say_what_labels_of_stamped_arrays_mean():
    stream = make(label__positive=['4'], label__negative=['6', '-1'], label__ignore=['2'])
    for number, label in enumerate((4, 6, -1, 2, 1), 1):
        stream.on_prediction(stamped(number * SECOND, 0.5))
        stream.on_label(stamped(number * SECOND, label))
    figures = stream.status().figures
    assert (figures['learned'], figures['ignored labels'], figures['empty labels']) == (
        '3', '1', '0'
    )  # fmt: skip
    sentence = said(stream.status(), '1 of the last 5 labels was refused')
    assert "in no list: label.positive ['4'], label.negative ['6', '-1'], label.ignore ['2']" in (
        sentence
    )
    assert 'label.positive' in sentence.partition(';')[2]


def test_names_of_classes_of_stamped_arrays():
    stream = make(class_names=['a', 'b'], label__type='std_msgs/String', label__stamping='arrival')
    stream.on_prediction(stamped(SECOND, 0.25, 0.75))
    stream.on_label(SimpleNamespace(data='b'), SECOND)
    assert stream.pipeline.counts.learned == 1
    stream.on_label(SimpleNamespace(data='c'), SECOND)
    assert said(stream.status(), "none of class_names ['a', 'b'] ('c')", 'label.ignore')


def test_a_status_of_an_action_is_a_label_by_its_number():
    stream = make(
        label__type='my_msgs/Joints', label__value_field='rank', label__stamping='arrival',
        label__positive=['4'], label__negative=['6'], label__ignore=['2'],
    )  # fmt: skip
    stream.on_prediction(stamped(SECOND, 0.5))
    stream.on_label(SimpleNamespace(rank=2), SECOND)
    stream.on_label(SimpleNamespace(rank=4), SECOND)
    assert stream.pipeline.scores.raw.count == 1


def test_labels_that_are_all_ignored_are_no_fault_of_the_path():
    stream = make(
        label__type='my_msgs/Joints', label__value_field='position[0]', label__stamping='arrival',
        label__ignore=['255'],
    )  # fmt: skip
    for _ in range(30):
        stream.on_label(SimpleNamespace(position=[255.0]), SECOND)
    assert not said(stream.status(), 'led to nothing')


def test_by_default_numbers_and_labels_go_the_short_way():
    stream = make()
    assert type(stream.prediction).__name__ == type(stream.label).__name__ == 'StampedArray'
    stream = make(raw__type='geometry_msgs/PointStamped', raw__value_field='point.x')
    assert type(stream.prediction).__name__ == 'FieldMessage'
    assert stream.on_prediction(point_stamped(SECOND, 0.5)).point.x == 0.5
