# SPDX-License-Identifier: Apache-2.0
"""While too many labels are refused for their value, what is left of them teaches nothing."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest
from pipelines import MS, learn, make, observed, one_and_many, predict, sure

from calib_node.core.calibrators import create
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import BAD_VALUES, REASONS, Refused
from calib_node.core.samples import Label

STEP = 100 * MS


def send(pipeline: Pipeline, number: int, y: float) -> None:
    """Send a prediction and its label, which may be refused."""
    with contextlib.suppress(Refused):
        learn(pipeline, number * STEP, sure(pipeline.classes), y)


def send_all(pipeline: Pipeline, labels: list[float]) -> None:
    for number, y in enumerate(labels, pipeline.counts.predictions + 1):
        send(pipeline, number, y)


def test_of_labels_minus_and_plus_one_the_plus_ones_are_not_learned():
    generator = random.Random(3)
    labels = [generator.choice([-1.0, 1.0]) for _ in range(1000)]
    taken_by_all = create('ops')
    for _ in range(labels.count(1.0)):
        taken_by_all.update(0.8, 1)
    assert taken_by_all.predict(0.8) > 0.98
    pipeline = make()
    matches = observed(pipeline)
    second = [number for number, y in enumerate(labels) if y == -1.0][1]
    before = labels[:second].count(1.0)
    send_all(pipeline, labels[: second + 1])
    state = pipeline.calibrator.state()
    assert pipeline.held_back
    assert (pipeline.counts.learned, pipeline.counts.held_back) == (before, 0)
    send_all(pipeline, labels[second + 1 :])
    assert pipeline.calibrator.state() == state
    assert pipeline.calibrator.predict(0.8) == pytest.approx(0.8, abs=0.05)
    assert pipeline.counts.refused['bad_label'] == labels.count(-1.0)
    # They are seen and scored all the same.
    assert pipeline.counts.held_back == labels.count(1.0) - before
    assert len(matches) == pipeline.scores.raw.count == labels.count(1.0)


def test_indices_from_one_on_teach_nothing_after_the_second_refused():
    generator = np.random.default_rng(3)
    pipeline = make(3)
    send_all(pipeline, [1.0, 3.0, 2.0, 3.0])
    assert pipeline.counts.learned == 2
    send_all(pipeline, generator.choice([1.0, 2.0, 3.0], 500).tolist())
    assert pipeline.counts.learned == pipeline.calibrator.updates == 2


@one_and_many
def test_learning_goes_on_when_they_are_gone_from_the_last_hundred(classes):
    pipeline = make(classes)
    send_all(pipeline, [-1.0] * 50)
    learned = []
    for _ in range(120):
        send_all(pipeline, [1.0])
        learned.append(pipeline.counts.learned)
    # Of the last hundred, ten are bad at the ninetieth good one.
    assert learned == [0] * 89 + list(range(1, 32))
    assert not pipeline.held_back
    assert pipeline.counts.held_back == 89


@pytest.mark.parametrize(('bad', 'held_back'), [(10, False), (11, True)])
def test_a_tenth_is_not_too_many(bad, held_back):
    pipeline = make()
    send_all(pipeline, [1.0] * (100 - bad) + [-1.0] * bad)
    assert pipeline.counts.learned == 100 - bad
    assert pipeline.held_back is held_back
    send_all(pipeline, [1.0])
    assert pipeline.counts.learned == 100 - bad + 1 - held_back


@pytest.mark.parametrize('where', [0, 1, 50])
def test_a_single_nan_suspends_nothing(where):
    pipeline = make()
    labels = [1.0] * 100
    labels[where] = float('nan')
    for y in labels:
        send_all(pipeline, [y])
        assert not pipeline.held_back
    assert pipeline.counts.learned == 99


def test_labels_without_a_stamp_or_a_value_suspend_nothing():
    pipeline = make()
    for number in range(1, 101):
        with pytest.raises(Refused):
            pipeline.label(Label(0, -1.0))
        pipeline.label(Label(number * STEP, None))
        send(pipeline, number, 1.0)
    assert not pipeline.held_back
    assert (pipeline.counts.learned, pipeline.counts.held_back) == (100, 0)


@pytest.mark.parametrize('reason', list(REASONS))
def test_what_a_codec_refuses_counts_too_where_it_is_about_the_value(reason):
    pipeline = make()
    for number in range(1, 21):
        pipeline.refuse_label(Refused(reason, stamp=number * STEP))
        send(pipeline, number, 1.0)
    assert pipeline.counts.labels == 40
    assert pipeline.held_back is (reason in BAD_VALUES)
    assert pipeline.counts.learned == (1 if reason in BAD_VALUES else 20)


def test_bad_values_are_those_that_may_hide_one_outcome_more_often_than_another():
    assert set(REASONS) > BAD_VALUES
    assert {'not_finite', 'bad_label', 'not_a_number'} < BAD_VALUES
    assert not BAD_VALUES & {'zero_stamp', 'bad_stamp', 'layout', 'too_short', 'undecodable'}


def test_refused_predictions_suspend_nothing():
    pipeline = make()
    for number in range(1, 101):
        with pytest.raises(Refused):
            predict(pipeline, number * STEP, float('nan'))
    send_all(pipeline, [1.0])
    assert (pipeline.held_back, pipeline.counts.learned) == (False, 1)


def test_matches_that_wait_are_held_back_whatever_completes_them():
    pipeline = make()
    for number in (1, 2):
        pipeline.label(Label(number * STEP, 1.0))
    for _ in range(2):
        with pytest.raises(Refused):
            pipeline.label(Label(STEP, -1.0))
    predict(pipeline, STEP, 0.8)
    predict(pipeline, 2 * STEP, 0.8)
    assert (pipeline.counts.learned, pipeline.counts.held_back) == (0, 2)


def test_without_learning_nothing_is_held_back():
    pipeline = make(learning=False)
    send_all(pipeline, [-1.0] * 5 + [1.0] * 5)
    assert pipeline.held_back
    assert (pipeline.counts.learned, pipeline.counts.held_back) == (0, 0)
    assert pipeline.scores.raw.count == 5


def test_a_reset_does_not_make_them_fair():
    pipeline = make()
    send_all(pipeline, [-1.0] * 5)
    pipeline.reset()
    send_all(pipeline, [1.0])
    assert (pipeline.held_back, pipeline.calibrator.updates) == (True, 0)
