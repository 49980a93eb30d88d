# SPDX-License-Identifier: Apache-2.0
"""The status says so when nothing works, and names what would help."""

from __future__ import annotations

import math
from typing import Any

import pytest

from calib_node.core.calibrators import UpdateNotFinite
from calib_node.stream.status import Level, Status
from calib_node.stream.stream import Stream

from .messages import MS, SECOND, Told, array_bytes, make, point_stamped, said, stamped, value_of

START = 1000 * SECOND
STEP = 100 * MS
LABEL_BY_NAME = {'label__type': 'std_msgs/msg/String', 'label__stamping': 'arrival'}


def at(number: int) -> int:
    return START + number * STEP


def predict(stream: Stream, numbers: range, *values: float) -> None:
    for number in numbers:
        stream.on_prediction(stamped(at(number), *values))


def teach(stream: Stream, numbers: range, p: float = 0.6) -> None:
    """Send predictions with labels of both kinds."""
    for number in numbers:
        stream.on_prediction(stamped(at(number), p + 0.001 * (number % 300)))
        stream.on_label(stamped(at(number), number % 2))


def test_level_is_that_of_the_gravest_finding_and_its_sentence_comes_first():
    status = Status('calibrating', [(Level.STALE, 'silent'), (Level.WARN, 'odd')], ['rare'])
    assert (status.level, status.message) == (Level.WARN, 'odd; silent; note: rare')
    status.findings.append((Level.ERROR, 'bad'))
    assert (status.level, status.message) == (Level.ERROR, 'bad; odd; silent; note: rare')
    assert Status('calibrating', notes=['rare']).level == Level.OK
    assert Status('calibrating', notes=['rare']).message == 'calibrating; note: rare'


def test_all_is_well():
    stream = make()
    assert stream.status().message == 'calibrating; no label matched yet'
    teach(stream, range(50))
    status = stream.status()
    assert (status.level, status.notes) == (Level.OK, [])
    assert status.message.startswith('calibrating; ECE ')
    assert status.figures['matched'] == '50'
    assert 0.03 < float(status.figures['raw ECE by chance']) < 0.09


@pytest.mark.parametrize(
    ('given', 'data', 'why', 'remedy'),
    [
        ({}, [START // SECOND, 0, 87.0], 'outside [0, 1] (87.0)', 'no percent, no logits'),
        ({}, [START // SECOND, 0, -2.3], 'outside [0, 1] (-2.3)', 'no percent, no logits'),
        ({}, [START // SECOND, 0, math.nan], 'not finite', 'mend the publisher'),
        ({}, [START // SECOND, 0, 0.1, 0.2, 0.3, 0.4], '4 instead of 1', 'set classes'),
        ({'classes': 3}, [START // SECOND, 0, 0.1, 0.2, 0.3, 0.4], '4 instead of 3', 'set classes'),
        ({'classes': 3}, [START // SECOND, 0, 0.9, 0.8, 0.7], 'do not sum to 1', 'classes 1'),
        ({}, [1.5, 0, 0.5], 'not whole seconds', 'the stamp of the observation'),
        ({}, [0.5], 'too short', '[sec, nanosec, value]'),
    ],
)
def test_all_predictions_refused(given, data, why, remedy):
    stream = make(**given)
    assert stream.on_prediction(array_bytes(data)) is None
    status = stream.status()
    assert status.level == Level.WARN
    assert said(status, 'all of the last 1 predictions were refused', why, remedy)
    for _ in range(99):
        stream.on_prediction(array_bytes(data))
    status = stream.status()
    assert status.level == Level.ERROR
    assert status.message.startswith('all of the last 100 predictions were refused')
    assert status.figures['predictions'] == '100'


@pytest.mark.parametrize(
    ('given', 'data', 'why', 'remedy'),
    [
        ({}, [0, 0, 1], 'the stamp is zero', 'the stamp of the observation'),
        ({}, [START // SECOND, 0, -1], 'neither 0 nor 1 (-1.0)', 'no -1'),
        ({}, [START // SECOND, 0, 7], 'neither 0 nor 1 (7.0)', 'set classes'),
        ({'classes': 3}, [START // SECOND, 0, 3], 'one of 3 classes', '0 to 2'),
    ],
)
def test_all_labels_refused(given, data, why, remedy):
    stream = make(**given)
    stream.on_label(array_bytes(data))
    assert said(stream.status(), 'all of the last 1 labels were refused', why, remedy)
    for _ in range(99):
        stream.on_label(array_bytes(data))
    assert stream.status().level == Level.ERROR
    assert stream.status().figures['labels'] == '100'


def test_a_refused_message_counts_by_its_share_until_a_hundred_good_ones_have_come():
    stream = make()
    teach(stream, range(30))
    predict(stream, range(30, 33), 1.5)
    assert said(stream.status(), '3 of the last 33 predictions were refused')
    teach(stream, range(33, 133))
    assert stream.status().level == Level.OK


def test_names_without_a_positive_class():
    stream = make(**LABEL_BY_NAME)
    stream.on_label(named('car'), received=START)
    assert said(stream.status(), "holds no number ('car')", 'set positive_class')


def named(name: str) -> Any:
    message = point_stamped(START, 0.0)
    message.data = name
    return message


def test_a_positive_class_spelt_otherwise():
    stream = make(positive_class='Car', **LABEL_BY_NAME)
    for _ in range(20):
        stream.on_label(named('bus'), received=START)
        stream.on_label(named('car'), received=START)
    status = stream.status()
    assert status.level == Level.WARN
    assert said(status, "positive_class 'Car'", "there is 'car'", 'as it is published')


def test_a_rare_positive_class_is_a_note():
    stream = make(positive_class='car', **LABEL_BY_NAME)
    stream.on_label(named('car'), received=START)
    for _ in range(100):
        stream.on_label(named('bus'), received=START)
    status = stream.status()
    assert "positive_class 'car'" in said(status, 'none of the last 100 labels')
    assert [level for level, sentence in status.findings if 'positive_class' in sentence] == []


def test_an_empty_name():
    stream = make(positive_class='car', **LABEL_BY_NAME)
    stream.on_label(named(''), received=START)
    assert said(stream.status(), 'the name of the class is empty')


@pytest.mark.parametrize(('side', 'things'), [('raw', 'predictions'), ('label', 'labels')])
def test_every_path_beyond_its_array(side, things):
    stream = make(
        **{
            f'{side}__type': 'my_msgs/msg/Detection',
            f'{side}__value_field': 'results[3].score',
        }
    )
    message = point_stamped(START, 0.0)
    message.results = []
    hear = stream.on_prediction if side == 'raw' else stream.on_label
    for _ in range(56):
        hear(message)
    status = stream.status()
    assert status.level == Level.WARN
    assert said(status, f"{side}.value_field 'results[3].score'", f'all of the last 56 {things}')


def test_explicit_no_opinion_is_no_fault():
    stream = make()
    for number in range(56):
        stream.on_prediction(stamped(at(number)))
    assert stream.status().level == Level.OK


def test_minus_one_and_one():
    stream = make()
    for number in range(3000):
        stream.on_prediction(stamped(at(number), 0.8))
        stream.on_label(stamped(at(number), 1 if number % 2 else -1))
    answer = value_of(stream.on_prediction(stamped(at(3000), 0.8)))
    assert answer == pytest.approx(0.8, abs=0.02)
    status = stream.status()
    assert status.level == Level.WARN
    assert said(status, '50 of the last 100 labels were refused', 'no -1')
    assert said(status, 'nothing is learned', 'no fair sample')
    assert int(status.figures['held back']) > 1400


def test_a_constant_is_noted():
    stream = make()
    predict(stream, range(200), 0.0)
    status = stream.status()
    assert said(status, 'the last 200 predictions are all 0.0, a constant')
    assert status.level == Level.OK
    predict(stream, range(200, 300), 1.0)
    assert said(stream.status(), 'all 0.0 or 1.0')
    predict(stream, range(300, 301), 0.5)
    assert not said(stream.status(), 'a constant')


def test_labels_of_one_class_are_noted():
    stream = make()
    for number in range(300):
        stream.on_prediction(stamped(at(number), 0.2 + 0.002 * number))
        stream.on_label(stamped(at(number), 0))
    assert said(stream.status(), 'all of the last 300 labels are 0')
    stream.on_label(stamped(at(299), 1))
    assert not said(stream.status(), 'all of the last')


def test_predictions_beyond_the_clip_are_noted_and_shown():
    stream = make()
    for number in range(100):
        p = 0.001 if number % 4 == 0 else 0.3 + 0.001 * number
        stream.on_prediction(stamped(at(number), p))
    status = stream.status()
    assert status.figures['predictions beyond the clip'] == '25.0%'
    assert said(status, '25% of the last predictions are beyond clip 0.01')
    assert status.level == Level.OK
    assert make(method='identity').status().figures['predictions beyond the clip'] == ''


def test_labels_later_than_the_horizon():
    stream = make(match__horizon=1.0)
    for number in range(200):
        stream.on_prediction(stamped(at(number), 0.6))
        if number >= 30:
            stream.on_label(stamped(at(number - 30), 1))
    status = stream.status()
    assert status.level == Level.WARN
    sentence = said(status, 'none matched', 'match.horizon 1 s', 'set match.horizon')
    needed = float(sentence.rsplit(' ', 1)[1])
    assert 3.0 <= needed <= 3.1
    assert without_a_miss(needed)


def without_a_miss(horizon: float) -> bool:
    stream = make(match__horizon=horizon)
    for number in range(200):
        stream.on_prediction(stamped(at(number), 0.6))
        if number >= 30:
            stream.on_label(stamped(at(number - 30), 1))
    return stream.pipeline.counts.labels_since_match == 0


def test_labels_beyond_the_capacity():
    stream = make(match__capacity=10)
    for number in range(200):
        stream.on_prediction(stamped(at(number), 0.6))
        if number >= 30:
            stream.on_label(stamped(at(number - 30), 1))
    sentence = said(stream.status(), 'none matched', 'match.capacity 10: set match.capacity')
    needed = int(sentence.rsplit(' ', 1)[1])
    assert 31 <= needed <= 40


def test_exact_with_stamps_that_are_a_little_off():
    stream = make(match__policy='exact')
    for number in range(40):
        stream.on_prediction(stamped(at(number), 0.6))
        stream.on_label(stamped(at(number) + 300, 1))
    sentence = said(stream.status(), 'none matched', '300 ns after', 'match.policy is exact')
    assert sentence.endswith('set match.policy to nearest and match.tolerance to at least 3e-07')


def test_a_constant_shift():
    stream = make()
    for number in range(40):
        stream.on_prediction(stamped(at(number), 0.6))
        stream.on_label(stamped(at(number) + 40 * MS, 1))
    assert said(stream.status(), '40 ms after', 'set label.offset to -0.04')


def test_labels_ahead_of_all_predictions():
    stream = make()
    predict(stream, range(5), 0.6)
    for number in range(20, 40):
        stream.on_label(stamped(at(number), 1))
    assert said(stream.status(), 'none matched', 's after the nearest prediction')


def test_scattered_labels():
    stream = make()
    for number in range(40):
        stream.on_prediction(stamped(at(number), 0.6))
        stream.on_label(stamped(at(number) + (20 + 7 * number % 25) * MS, 1))
    assert said(stream.status(), 'after the nearest prediction', 'set match.tolerance to at least')


def test_two_publishers_three_seconds_apart():
    stream = make()
    for number in range(100):
        stream.on_prediction(stamped(at(number), 0.6))
        stream.on_prediction(stamped(at(number) - 3 * SECOND, 0.6))
    status = stream.status()
    assert status.level == Level.WARN
    assert said(status, 'jumped back', 'by up to 3 s', 'set match.max_disorder to at least 3.0')


def test_one_restart_of_a_recording_is_no_fault():
    stream = make()
    teach(stream, range(50))
    teach(stream, range(50))
    assert stream.status().figures['jumps back in time'] == '1'
    assert not said(stream.status(), 'jumped back')


def test_labels_of_refused_predictions_are_no_match():
    stream = make()
    predict(stream, range(20), 1.5)
    for number in range(20):
        stream.on_label(stamped(at(number), 1))
    assert said(stream.status(), '20 labels came and none matched', 'were refused')


def test_labels_without_predictions():
    stream = make()
    for number in range(10):
        stream.on_label(stamped(at(number), 1))
    assert said(stream.status(), '10 labels came and none matched', 'no prediction has come')


def test_an_update_that_fails_is_told_at_once_and_shown(monkeypatch):
    stream = make()

    def fail(*_: Any) -> None:
        raise UpdateNotFinite('the update gives a number that is not finite')

    monkeypatch.setattr(stream.pipeline.calibrator, 'update', fail)
    teach(stream, range(1))
    told: Told = stream.tell
    assert told == [
        (
            Level.ERROR,
            'an update was not taken: the update gives a number that is not finite',
        )
    ]
    assert stream.status().level == Level.ERROR


def test_a_window_too_short_to_warn():
    stream = make(ece__window=100, ece__min_samples=300)
    assert said(stream.status(), 'ece.window', 'ece.min_samples')
