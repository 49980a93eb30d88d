# SPDX-License-Identifier: Apache-2.0
"""The gate: what is a probability, what is a label, and what becomes of the rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pipelines import MS, learn, make, observed, one_and_many, plain, predict, sure, triples

from calib_node.core.outcomes import BinaryOutcome, ClassOutcomes, outcomes_of
from calib_node.core.refusal import REASONS, Refused
from calib_node.core.samples import Label

NAN, INF = math.nan, math.inf


def given(p: Any) -> Any:
    return p if isinstance(p, float) else np.array(p)


# Predictions


@pytest.mark.parametrize(
    ('classes', 'p', 'reason', 'words'),
    [
        (1, NAN, 'not_finite', 'nan'),
        (1, INF, 'not_finite', 'inf'),
        (1, -INF, 'not_finite', '-inf'),
        (1, -0.1, 'out_of_range', '-0.1'),
        (1, 1.5, 'out_of_range', '1.5'),
        (1, -1.1e-6, 'out_of_range', '-1.1e-06'),
        (1, 1.0 + 1.1e-6, 'out_of_range', '1.0000011'),
        (3, [0.5, 0.5], 'wrong_length', '2 instead of 3'),
        (3, [0.25, 0.25, 0.25, 0.25], 'wrong_length', '4 instead of 3'),
        (3, [1.0], 'wrong_length', '1 instead of 3'),
        (3, [], 'wrong_length', '0 instead of 3'),
        (3, np.float64(0.5), 'wrong_length', r'an array of shape \(\) instead of 3'),
        (3, [[0.8, 0.15, 0.05]], 'wrong_length', r'an array of shape \(1, 3\) instead of 3'),
        (3, [NAN, 0.5, 0.5], 'not_finite', 'nan for class 0'),
        (3, [0.5, INF, 0.5], 'not_finite', 'inf for class 1'),
        (3, [0.5, 0.5, -INF], 'not_finite', '-inf for class 2'),
        (3, [0.5, 0.7, -0.2], 'out_of_range', '-0.2 for class 2'),
        (3, [1.5, 0.0, 0.0], 'out_of_range', '1.5 for class 0'),
        (3, [1.0 + 1.1e-6, 0.0, 0.0], 'out_of_range', 'for class 0'),
        (3, [1.0, 0.0, -1.1e-6], 'out_of_range', 'for class 2'),
        (3, [0.5, 0.4, 0.0989], 'bad_sum', '0.9989'),
        (3, [0.5, 0.4, 0.1011], 'bad_sum', '1.0011'),
        (3, [0.0, 0.0, 0.0], 'bad_sum', '0.0'),
        (3, [1.0, 1.0, 1.0], 'bad_sum', '3.0'),
    ],
)
def test_what_is_no_probability_is_refused_counted_and_never_learned(classes, p, reason, words):
    pipeline = make(classes)
    matches = observed(pipeline)
    with pytest.raises(Refused, match=words) as refused:
        predict(pipeline, MS, given(p))
    assert (refused.value.reason, refused.value.stamp) == (reason, MS)
    assert str(refused.value).startswith(REASONS[reason])
    counts = pipeline.counts
    assert (counts.predictions, dict(counts.refused)) == (1, {reason: 1})
    assert pipeline.recent_predictions.refused(100) == {reason: 1}
    assert pipeline.recent_predictions.last_refusal == str(refused.value)
    pipeline.label(Label(MS, 1.0))
    pipeline.flush()
    assert (matches, counts.without_value) == ([], 1)
    assert pipeline.calibrator.state() == make(classes).calibrator.state()


@pytest.mark.parametrize(
    ('p', 'clamped'),
    [
        (1.0 + 1e-6, 1.0),
        (-1e-6, 0.0),
        (math.nextafter(1.0, 2.0), 1.0),
        ([1.0 + 1e-6, -1e-6, 0.0], [1.0, 0.0, 0.0]),
        ([1.0 + 1e-6, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ([0.7, 0.3, -1e-6], [0.7, 0.3, 0.0]),
    ],
)
def test_a_small_overshoot_is_clamped_and_the_callers_array_is_not_touched(p, clamped):
    pipeline = make(1 if isinstance(p, float) else 3)
    matches = observed(pipeline)
    sent = given(p)
    learn(pipeline, MS, sent, 1)
    assert triples(matches) == [(MS, clamped, 1)]
    assert plain(sent) == p


def test_the_callers_array_is_not_touched_by_calibrating_and_learning():
    sent = sure(3)
    learn(make(3), MS, sent, 1)
    assert plain(sent) == plain(sure(3))


@pytest.mark.parametrize('classes', [2, 10, 1000])
@pytest.mark.parametrize('kind', [np.float32, np.float16])
def test_what_a_softmax_of_less_precision_gives_is_taken(classes, kind):
    logits = np.random.default_rng(1).normal(0.0, 3.0, (50, classes)).astype(np.float32)
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows = (e / e.sum(axis=1, keepdims=True)).astype(kind)
    pipeline = make(classes)
    matches = observed(pipeline)
    for number, row in enumerate(rows, 1):
        learn(pipeline, number * 100 * MS, row, number % classes)
        assert matches[-1].raw.tolist() == row.tolist()
        assert matches[-1].raw.dtype == np.float64
    assert len(matches) == 50


@pytest.mark.parametrize('total', [1.0 - 9e-4, 1.0 + 9e-4])
def test_a_sum_near_one_is_taken_as_it_is(total):
    p = np.array([0.6, 0.3, total - 0.9])
    assert ClassOutcomes(3).check(p).tolist() == p.tolist()


# Labels


@pytest.mark.parametrize(
    ('classes', 'stamp', 'value', 'reason'),
    [
        *((classes, MS, value, 'not_finite') for classes in (1, 3) for value in (NAN, INF, -INF)),
        *(
            (classes, MS, value, 'bad_label')
            for classes in (1, 3)
            for value in (3.0, -1.0, 0.5, 1.5, 1e300)
        ),
        (1, MS, 2.0, 'bad_label'),
        (1, 0, 1.0, 'zero_stamp'),
        (3, 0, 1.0, 'zero_stamp'),
    ],
)
def test_a_refused_label_is_counted_and_its_prediction_waits(classes, stamp, value, reason):
    pipeline = make(classes)
    predict(pipeline, MS, sure(classes))
    with pytest.raises(Refused) as refused:
        pipeline.label(Label(stamp, value))
    assert (refused.value.reason, refused.value.stamp) == (reason, stamp)
    counts = pipeline.counts
    assert (counts.labels, dict(counts.refused)) == (1, {reason: 1})
    assert (counts.labels_since_match, pipeline.matcher.pending_labels) == (0, 0)
    assert pipeline.recent_labels.refused(100) == {reason: 1}
    assert pipeline.matcher.pending_predictions == 1
    pipeline.label(Label(MS, 0.0))
    assert counts.learned == 1


def test_the_refusal_of_a_label_says_which_labels_there_are():
    with pytest.raises(Refused, match=r'one of 7 classes, 0 to 6 \(7\.0\)'):
        make(7).label(Label(MS, 7.0))
    with pytest.raises(Refused, match=r'neither 0 nor 1 \(-1\.0\)'):
        make().label(Label(MS, -1.0))


@pytest.mark.parametrize(
    ('classes', 'label'), [(1, 0), (1, 1), *((5, label) for label in range(5))]
)
def test_every_class_is_a_label(classes, label):
    pipeline = make(classes)
    matches = observed(pipeline)
    learn(pipeline, MS, 0.5 if classes == 1 else np.full(5, 0.2), label)
    assert [(match.label, type(match.label)) for match in matches] == [(label, int)]


# What teaches nothing


@one_and_many
def test_no_opinion_has_no_forecast_and_its_label_teaches_nothing(classes):
    pipeline = make(classes)
    matches = observed(pipeline)
    predict(pipeline, 1000 * MS, sure(classes))
    assert predict(pipeline, 1005 * MS, None) is None
    predict(pipeline, 1012 * MS, sure(classes))
    pipeline.label(Label(1006 * MS, 1.0))
    pipeline.flush()
    assert (matches, pipeline.scores.raw.count) == ([], 0)
    assert (pipeline.matcher.counts.matched, pipeline.matcher.counts.expired) == (1, 2)
    counts = pipeline.counts
    assert (counts.learned, counts.no_opinion, counts.without_value) == (0, 1, 1)


@one_and_many
def test_a_prediction_without_a_stamp_is_calibrated_but_never_learned(classes):
    pipeline = make(classes)
    learn(pipeline, MS, sure(classes), 1)
    now = pipeline.calibrator.predict(sure(classes))
    assert plain(predict(pipeline, 0, sure(classes))) == plain(now)
    assert plain(now) != plain(make(classes).calibrator.predict(sure(classes)))
    assert pipeline.counts.unstamped == 1
    assert pipeline.matcher.pending_predictions == 0
    assert predict(pipeline, 0, None) is None


@one_and_many
def test_an_empty_label_is_ignored_and_counted(classes):
    pipeline = make(classes)
    predict(pipeline, MS, sure(classes))
    pipeline.label(Label(MS, None))
    assert (pipeline.counts.labels, pipeline.counts.empty_labels) == (1, 1)
    assert (pipeline.counts.learned, pipeline.matcher.pending_labels) == (0, 0)


# What the status asks


def test_beyond_the_clip_are_those_that_the_clip_changes():
    assert BinaryOutcome().beyond([0.0, 0.01, 0.0099, 0.5, 0.99, 0.9901, 1.0], 0.01) == 4
    tops = [np.array([0.3, 0.6, 0.1]), np.array([0.0, 1.0, 0.0]), np.array([0.99, 0.01, 0.0])]
    assert ClassOutcomes(3).beyond(tops, 0.01) == 1


@one_and_many
def test_the_identity_tells_other_probabilities_apart(classes):
    outcomes = outcomes_of(classes)
    assert outcomes.classes == classes
    p = sure(classes)
    assert outcomes.identity(p) == outcomes.identity(p * 1.0)
    others = [0.8000001, 0.2] if classes == 1 else [p[::-1], np.array([0.8, 0.15, 0.05])]
    assert len({outcomes.identity(one) for one in (p, *others)}) == 3


# What never came to be a prediction


@one_and_many
@pytest.mark.parametrize('of', ['codec', 'pipeline'])
def test_the_label_of_a_refused_prediction_goes_to_no_neighbour(of, classes):
    pipeline = make(classes)
    predict(pipeline, 100 * MS, sure(classes))
    if of == 'codec':
        pipeline.refuse_prediction(Refused('wrong_length', '2', stamp=106 * MS))
    else:
        with pytest.raises(Refused):
            predict(pipeline, 106 * MS, NAN * sure(classes))
    pipeline.label(Label(106 * MS, 0.0))
    pipeline.label(Label(105 * MS, 0.0))
    predict(pipeline, 200 * MS, sure(classes))
    counts = pipeline.counts
    assert (counts.learned, counts.without_value) == (0, 1)
    assert pipeline.matcher.counts.duplicate == 1
    assert pipeline.calibrator.state() == make(classes).calibrator.state()
    # The neighbour still waits for its own.
    pipeline.label(Label(100 * MS, 0.0))
    assert counts.learned == 1


def test_without_the_refusal_the_neighbour_would_have_learned_it():
    pipeline = make()
    predict(pipeline, 100 * MS, 0.9)
    pipeline.label(Label(106 * MS, 0.0))
    predict(pipeline, 200 * MS, 0.9)
    assert pipeline.counts.learned == 1


def test_what_is_refused_without_a_stamp_keeps_no_place():
    pipeline = make()
    pipeline.refuse_prediction(Refused('undecodable'))
    assert (pipeline.counts.predictions, dict(pipeline.counts.refused)) == (1, {'undecodable': 1})
    assert pipeline.matcher.pending_predictions == 0


@one_and_many
def test_labels_since_the_last_match_are_counted(classes):
    pipeline = make(classes)
    predict(pipeline, 1000 * MS, sure(classes))
    for stamp in (1300, 1200, 1100):
        pipeline.label(Label(stamp * MS, 0.0))
    assert pipeline.counts.labels_since_match == 3
    pipeline.label(Label(1000 * MS, 0.0))
    assert pipeline.counts.labels_since_match == 0


@one_and_many
def test_the_label_of_a_refused_prediction_is_no_match(classes):
    pipeline = make(classes)
    for number in range(1, 31):
        pipeline.refuse_prediction(Refused('layout', stamp=number * 100 * MS))
        pipeline.label(Label(number * 100 * MS, 1.0))
    assert pipeline.counts.labels_since_match == pipeline.counts.without_value == 30
    assert (pipeline.counts.learned, pipeline.scores.raw.count) == (0, 0)
    learn(pipeline, 4000 * MS, sure(classes), 1)
    assert pipeline.counts.labels_since_match == 0
