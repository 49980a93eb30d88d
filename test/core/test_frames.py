# SPDX-License-Identifier: Apache-2.0
"""The pipeline of messages that hold many objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frames import MS, SECOND, boxes, frame, observed, pipeline_of, told, whole
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import create
from calib_node.core.matching import StampMatcher, create_matcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import Refused
from calib_node.core.samples import Label, LabelFrame, Prediction

NAN = float('nan')
FRAME_MODES = ('order', 'iou', 'distance')


def test_objects_are_learned_in_their_order_in_the_message():
    pipeline, calibrator = pipeline_of('order'), create('ops')
    matches = observed(pipeline)
    values = [0.8, 0.3, 0.95]
    answer = pipeline.predict_frame(frame(MS, values))
    assert answer.published == pytest.approx(values, abs=1e-12)
    whole(pipeline, LabelFrame(MS, [0.0, 1.0, 0.0]))
    issued = [calibrator.issue(p) for p in values]
    for p, y, (_, ticket) in zip(values, (0, 1, 0), issued):
        calibrator.update(p, y, ticket)
    assert told(matches) == [(MS, 0.8, 0), (MS, 0.3, 1), (MS, 0.95, 0)]
    learned = pipeline.calibrator
    assert (learned.a, learned.b) == pytest.approx((calibrator.a, calibrator.b), abs=1e-12)
    counts = pipeline.counts
    assert (counts.messages, counts.predictions, counts.labels, counts.learned) == (1, 3, 3, 3)


STREAM = st.lists(
    st.tuples(st.integers(-20, 20), st.floats(0.0, 1.0), st.integers(0, 1), st.booleans()),
    max_size=30,
)


@pytest.mark.parametrize('objects', ['order', 'id'])
@given(stream=STREAM)
def test_one_object_a_message_is_learned_as_by_itself(objects, stream):
    many = pipeline_of(objects)
    one = Pipeline(create('ops'), StampMatcher(10 * MS, 60 * SECOND, SECOND, 10_000))
    matches, expected = observed(many), []
    one.on_match.append(expected.append)
    for number, (jitter, p, y, late) in enumerate(stream, 1):
        stamp = number * 100 * MS
        label_stamp = max(stamp - 300 * MS * late + jitter * MS, 1)
        many.predict_frame(frame(stamp, [p], keys=['7']))
        whole(many, LabelFrame(label_stamp, [float(y)], keys=['7']))
        one.predict(Prediction(stamp, p))
        one.label(Label(label_stamp, float(y)))
    many.flush()
    one.flush()
    assert told(matches) == told(expected)
    assert [m.published for m in matches] == pytest.approx(
        [m.published for m in expected], abs=1e-12
    )
    for name in ('matched', 'unmatched', 'duplicate', 'expired', 'jumps_back'):
        assert getattr(many.matcher.counts, name) == getattr(one.matcher.counts, name), name


def test_an_object_that_is_refused_spoils_no_other():
    pipeline = pipeline_of('order')
    matches = observed(pipeline)
    absent = np.array([False, False, True, False, False])
    refused = {3: Refused('not_a_number', 'x')}
    answer = pipeline.predict_frame(
        frame(MS, [0.8, 1.5, NAN, NAN, NAN], absent=absent, refused=refused)
    )
    assert answer.calibrated.tolist() == [True, False, False, False, False]
    assert answer.published[:2].tolist() == pytest.approx([0.8, 1.0])
    reasons = {index: refusal.reason for index, refusal in answer.refused.items()}
    assert reasons == {3: 'not_a_number', 1: 'out_of_range', 4: 'not_finite'}
    whole(pipeline, LabelFrame(MS, [1.0] * 5))
    assert told(matches) == [(MS, 0.8, 1)]
    counts = pipeline.counts
    assert (counts.predictions, counts.no_opinion, counts.without_value) == (5, 1, 4)
    assert counts.refused == {'not_a_number': 1, 'out_of_range': 1, 'not_finite': 1}
    assert pipeline.recent_predictions.refused(100).total() == 3


def test_an_overshoot_is_clamped():
    answer = pipeline_of('order').predict_frame(frame(MS, [1.0 + 1e-7, -1e-7, 0.4]))
    assert answer.calibrated.all()
    assert answer.published.tolist() == pytest.approx([0.99, 0.01, 0.4])


def test_labels_that_are_none_are_refused_and_the_others_learned():
    pipeline = pipeline_of('order')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(MS, [0.8, 0.7, 0.6, 0.5]))
    refused = {2: Refused('not_a_number', 'x')}
    told_of = pipeline.label_frame(LabelFrame(MS, [1.0, 3.0, None, None], refused))
    assert {i: r.reason for i, r in told_of.items()} == {1: 'bad_label', 2: 'not_a_number'}
    assert told(matches) == [(MS, 0.8, 1)]
    assert (pipeline.counts.labels, pipeline.counts.empty_labels) == (4, 1)


def test_labels_without_a_stamp_are_refused():
    pipeline = pipeline_of('order')
    with pytest.raises(Refused, match='zero'):
        pipeline.label_frame(LabelFrame(0, [1.0, 0.0]))
    assert pipeline.counts.refused == {'zero_stamp': 2}


def test_a_message_without_a_stamp_is_calibrated_and_not_learned_from():
    pipeline = pipeline_of('order')
    assert pipeline.predict_frame(frame(0, [0.8, 0.2])).calibrated.all()
    assert (pipeline.counts.unstamped, pipeline.matcher.pending_predictions) == (2, 0)


@pytest.mark.parametrize('objects', FRAME_MODES)
def test_a_message_that_is_refused_keeps_its_place(objects):
    pipeline = pipeline_of(objects)
    matches = observed(pipeline)
    near, far = 100 * MS, 106 * MS
    pipeline.predict_frame(frame(near, [0.9], places=boxes((0.0, 0.0, 1.0, 1.0))))
    pipeline.refuse_prediction(Refused('wrong_length', stamp=far))
    whole(pipeline, LabelFrame(far, [0.0], places=boxes((0.0, 0.0, 1.0, 1.0))))
    pipeline.flush()
    assert matches == []
    assert pipeline.counts.without_value == 1


@pytest.mark.parametrize('objects', FRAME_MODES)
def test_no_objects_on_either_side(objects):
    pipeline = pipeline_of(objects)
    answer = pipeline.predict_frame(frame(MS, [], places=boxes()))
    assert (len(answer.published), answer.refused) == (0, {})
    whole(pipeline, LabelFrame(MS, [], places=boxes()))
    assert pipeline.matcher.counts.matched == 1
    assert (pipeline.counts.messages, pipeline.counts.learned) == (1, 0)


def test_true_objects_without_a_prediction_are_missed():
    pipeline = pipeline_of('iou')
    pipeline.predict_frame(frame(MS, [], places=boxes()))
    whole(pipeline, LabelFrame(MS, [1.0], places=boxes((0.0, 0.0, 1.0, 1.0))))
    assert pipeline.counts.missed == 1


def test_a_message_of_labels_without_a_message_of_predictions_is_unmatched():
    pipeline = pipeline_of('iou')
    pipeline.predict_frame(frame(SECOND, [0.9], places=boxes((0.0, 0.0, 1.0, 1.0))))
    whole(pipeline, LabelFrame(SECOND + 100 * MS, [1.0], places=boxes((0.0, 0.0, 1.0, 1.0))))
    pipeline.flush()
    assert (pipeline.matcher.counts.unmatched, pipeline.counts.learned) == (1, 0)
    assert pipeline.matcher.miss == 100 * MS


def test_ten_thousand_objects_in_a_message():
    pipeline = pipeline_of('order')
    generator = np.random.default_rng(1)
    for number in (1, 2):
        p = generator.uniform(0.01, 0.99, 10_000)
        pipeline.predict_frame(frame(number * SECOND, p))
        whole(pipeline, LabelFrame(number * SECOND, (generator.random(10_000) < p).tolist()))
    assert pipeline.counts.learned == 20_000


@pytest.mark.parametrize('objects', ['order', 'id'])
def test_capacity_is_counted_in_objects(objects):
    pipeline = pipeline_of(objects, capacity=100)
    for number in range(1, 21):
        keys = [str(i) for i in range(30)]
        pipeline.predict_frame(frame(number * SECOND, [0.5] * 30, keys=keys))
    whole(pipeline, LabelFrame(18 * SECOND, [1.0] * 30, keys=keys))
    assert pipeline.counts.learned == 30
    whole(pipeline, LabelFrame(17 * SECOND, [1.0] * 30, keys=keys))
    pipeline.flush()
    assert pipeline.counts.learned == 30
    gone = pipeline.matcher.gone
    assert gone is not None
    assert gone.capacity >= 120


def test_a_message_beyond_the_capacity_is_kept_alone():
    pipeline = pipeline_of('order', capacity=10)
    for number in (1, 2):
        pipeline.predict_frame(frame(number * SECOND, [0.5] * 30))
    whole(pipeline, LabelFrame(2 * SECOND, [1.0] * 30))
    assert pipeline.counts.learned == 30


@pytest.mark.parametrize('policy', ['nearest', 'hold'])
def test_labels_that_wait_are_bounded_in_objects(policy):
    pipeline = pipeline_of('order', policy, capacity=100)
    for number in range(1, 11):
        whole(pipeline, LabelFrame(number * SECOND, [1.0] * 30))
    for number in range(1, 11):
        pipeline.predict_frame(frame(number * SECOND, [0.5] * 30))
    pipeline.flush()
    assert pipeline.counts.learned == 90


def test_a_message_of_labels_holds_until_the_next():
    pipeline = pipeline_of('order', 'hold')
    matches = observed(pipeline)
    whole(pipeline, LabelFrame(SECOND, [1.0, 0.0]))
    for number in (1, 2):
        pipeline.predict_frame(frame(SECOND + number * 100 * MS, [0.9, 0.8]))
    whole(pipeline, LabelFrame(2 * SECOND, [0.0, 0.0]))
    pipeline.predict_frame(frame(2 * SECOND + MS, [0.7, 0.6]))
    pipeline.flush()
    assert [match.label for match in matches] == [1, 0, 1, 0, 0, 0]


def test_the_policy_changes_while_it_runs():
    pipeline = pipeline_of('order')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(SECOND, [0.9, 0.8]))
    whole(pipeline, LabelFrame(SECOND + 15 * MS, [1.0, 0.0]))
    pipeline.configure_matching('nearest', 20 * MS, 60 * SECOND, SECOND, 10_000)
    pipeline.predict_frame(frame(2 * SECOND, [0.7, 0.6]))
    assert len(matches) == 2
    pipeline.configure_matching('hold', 20 * MS, 60 * SECOND, SECOND, 10_000)
    whole(pipeline, LabelFrame(3 * SECOND, [1.0, 0.0]))
    pipeline.predict_frame(frame(3 * SECOND + MS, [0.9, 0.8]))
    pipeline.flush()
    assert len(matches) == 4
    assert pipeline.matcher.counts.matched == 2


def test_several_classes():
    pipeline = pipeline_of('order', classes=3, method='temperature')
    matches: list[Any] = observed(pipeline)
    rows = [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.5, 0.1, 0.1]]
    answer = pipeline.predict_frame(frame(MS, rows))
    assert answer.calibrated.tolist() == [True, True, False]
    assert answer.refused[2].reason == 'bad_sum'
    whole(pipeline, LabelFrame(MS, [0.0, 2.0, 1.0]))
    assert [match.label for match in matches] == [0, 2]
    assert matches[1].raw.tolist() == rows[1]


def test_there_is_no_hold_by_id():
    with pytest.raises(ValueError, match='hold is for the labels of whole messages'):
        create_matcher('hold', 1, 1, 1, 1, 'id')
