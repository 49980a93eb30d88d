# SPDX-License-Identifier: Apache-2.0
"""The whole behaviour without ROS."""

from __future__ import annotations

import math
import random

import pytest

from calib_node.core.calibrators import UpdateNotFinite, create
from calib_node.core.matching import StampMatcher
from calib_node.core.metrics import ece
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import REASONS, Refused
from calib_node.core.samples import Label, Match, Prediction

MS = 1_000_000


def make(learning: bool = True, method: str = 'ops', **parameters: float) -> Pipeline:
    return Pipeline(create(method, **parameters), StampMatcher(), learning=learning)


def predict(pipeline: Pipeline, stamp: int, p: float | None) -> float | None:
    return pipeline.predict(Prediction(stamp, p)).probability


def learn(pipeline: Pipeline, stamp: int, p: float, y: int) -> list[Match]:
    predict(pipeline, stamp, p)
    return pipeline.label(Label(stamp, float(y)))


def test_first_step():
    pipeline = make()
    assert pipeline.predict(Prediction(MS, 0.8)) == Prediction(MS, 0.8)
    assert pipeline.label(Label(MS, 0.0)) == [Match(0.8, 0.8, 0)]
    assert predict(pipeline, 2 * MS, 0.8) == pytest.approx(0.76075807, abs=5e-9)
    assert pipeline.counts.learned == 1


def test_early_label_is_learned_when_its_prediction_has_been_answered():
    early, prompt = make(), make()
    assert early.label(Label(MS, 0.0)) == []
    assert predict(early, MS, 0.8) == 0.8
    learn(prompt, MS, 0.8, 0)
    assert early.calibrator.state() == prompt.calibrator.state()
    assert early.calibrated.count == 1


def test_scored_is_what_was_published():
    pipeline = make()
    predict(pipeline, 1000 * MS, 0.8)
    predict(pipeline, 1100 * MS, 0.8)
    pipeline.label(Label(1000 * MS, 0.0))
    assert pipeline.calibrator.predict(0.8) < 0.77
    assert pipeline.label(Label(1100 * MS, 0.0)) == [Match(0.8, 0.8, 0)]
    assert pipeline.calibrated.ece() == pytest.approx(0.8)


def test_figures_before_and_after_calibration():
    pipeline = make()
    generator = random.Random(2)
    matches = []
    for number in range(1, 301):
        p = generator.uniform(0.6, 0.99)
        matches += learn(pipeline, number * MS, p, int(generator.random() < 0.6))
    raw, published, y = zip(*((m.raw, m.published, m.label) for m in matches))
    assert pipeline.raw.ece() == pytest.approx(ece(raw, y), abs=1e-12)
    assert pipeline.calibrated.ece() == pytest.approx(ece(published, y), abs=1e-12)
    assert pipeline.calibrated.ece() < pipeline.raw.ece()


def test_no_opinion_passes_through_and_its_label_teaches_nothing():
    pipeline = make()
    predict(pipeline, 1000 * MS, 0.8)
    opinionless = Prediction(1005 * MS, None)
    assert pipeline.predict(opinionless) is opinionless
    predict(pipeline, 1012 * MS, 0.8)
    pipeline.label(Label(1006 * MS, 1.0))
    assert pipeline.flush() == []
    assert pipeline.matcher.counts.matched == 1
    assert pipeline.matcher.counts.expired == 2
    assert (pipeline.counts.learned, pipeline.counts.no_opinion, pipeline.raw.count) == (0, 1, 0)


def test_label_of_a_refused_prediction_teaches_nothing_and_goes_to_no_neighbour():
    pipeline = make()
    predict(pipeline, 1000 * MS, 0.8)
    with pytest.raises(Refused):
        pipeline.predict(Prediction(1010 * MS, math.nan))
    predict(pipeline, 1020 * MS, 0.8)
    assert pipeline.label(Label(1010 * MS, 1.0)) == []
    assert pipeline.matcher.pending_predictions == 2
    assert pipeline.calibrator.updates == 0


def test_prediction_without_a_stamp_is_calibrated_but_never_learned():
    pipeline = make()
    learn(pipeline, MS, 0.8, 0)
    assert predict(pipeline, 0, 0.8) == pipeline.calibrator.predict(0.8) < 0.77
    assert pipeline.counts.unstamped == 1
    assert pipeline.matcher.pending_predictions == 0
    assert predict(pipeline, 0, None) is None


@pytest.mark.parametrize(
    ('p', 'reason'),
    [
        (math.nan, 'not_finite'),
        (math.inf, 'not_finite'),
        (-math.inf, 'not_finite'),
        (-0.1, 'out_of_range'),
        (1.5, 'out_of_range'),
        (-1.1e-6, 'out_of_range'),
        (1.0 + 1.1e-6, 'out_of_range'),
    ],
)
def test_refused_prediction_is_counted_and_never_learned(p, reason):
    pipeline = make()
    with pytest.raises(Refused, match=f'{REASONS[reason].split("[")[0]}') as refusal:
        predict(pipeline, MS, p)
    assert refusal.value.reason == reason
    assert dict(pipeline.counts.refused) == {reason: 1}
    pipeline.label(Label(MS, 1.0))
    assert pipeline.flush() == []
    assert pipeline.calibrator.state() == create('ops').state()


@pytest.mark.parametrize(
    ('stamp', 'value', 'reason'),
    [
        (MS, 2.0, 'bad_label'),
        (MS, -1.0, 'bad_label'),
        (MS, 0.5, 'bad_label'),
        (MS, math.nan, 'not_finite'),
        (MS, math.inf, 'not_finite'),
        (0, 1.0, 'zero_stamp'),
    ],
)
def test_refused_label_is_counted_and_its_prediction_waits(stamp, value, reason):
    pipeline = make()
    predict(pipeline, MS, 0.8)
    with pytest.raises(Refused) as refusal:
        pipeline.label(Label(stamp, value))
    assert refusal.value.reason == reason
    assert dict(pipeline.counts.refused) == {reason: 1}
    assert pipeline.matcher.pending_predictions == 1
    assert pipeline.label(Label(MS, 0.0)) == [Match(0.8, 0.8, 0)]


def test_empty_label_is_ignored_and_counted():
    pipeline = make()
    predict(pipeline, MS, 0.8)
    assert pipeline.label(Label(MS, None)) == []
    assert (pipeline.counts.empty_labels, pipeline.matcher.pending_labels) == (1, 0)


@pytest.mark.parametrize(
    ('p', 'clamped'), [(1.0 + 1e-6, 1.0), (-1e-6, 0.0), (math.nextafter(1.0, 2.0), 1.0)]
)
def test_small_overshoot_is_clamped(p, clamped):
    assert [match.raw for match in learn(make(), MS, p, 1)] == [clamped]


def test_without_learning_matches_are_scored_and_never_learned_later():
    pipeline = make(learning=False)
    learn(pipeline, 1000 * MS, 0.8, 0)
    predict(pipeline, 1100 * MS, 0.7)
    assert pipeline.raw.count == 1
    assert pipeline.calibrator.updates == 0
    pipeline.learning = True
    pipeline.label(Label(1100 * MS, 0.0))
    only_second = make()
    learn(only_second, MS, 0.7, 0)
    assert pipeline.calibrator.state() == only_second.calibrator.state()


def test_update_that_fails_is_shown_until_the_next_that_does_not(monkeypatch):
    pipeline = make()
    before = pipeline.calibrator.state()

    def fail(*_):
        raise UpdateNotFinite('the update gives a number that is not finite')

    with monkeypatch.context() as patch:
        patch.setattr(pipeline.calibrator, 'update', fail)
        assert len(learn(pipeline, 1000 * MS, 0.8, 0)) == 1
    assert pipeline.update_error == 'the update gives a number that is not finite'
    assert (pipeline.counts.failed_updates, pipeline.counts.learned) == (1, 0)
    assert pipeline.calibrator.state() == before
    learn(pipeline, 1100 * MS, 0.8, 0)
    assert pipeline.update_error == ''
    assert pipeline.counts.learned == 1


def test_labels_since_the_last_match_are_counted():
    pipeline = make()
    predict(pipeline, 1000 * MS, 0.8)
    for stamp in (1300, 1200, 1100):
        pipeline.label(Label(stamp * MS, 0.0))
    assert pipeline.counts.labels_since_match == 3
    pipeline.label(Label(1000 * MS, 0.0))
    assert pipeline.counts.labels_since_match == 0


def test_flush_learns_the_labels_that_wait():
    pipeline = make()
    predict(pipeline, 1000 * MS, 0.8)
    assert pipeline.label(Label(1004 * MS, 0.0)) == []
    assert pipeline.flush() == [Match(0.8, 0.8, 0)]
    assert pipeline.counts.learned == 1


def test_matches_that_follow_from_new_settings_are_learned():
    pipeline = make()
    for stamp in (1000, 1100):
        predict(pipeline, stamp * MS, 0.8)
    assert pipeline.label(Label(1020 * MS, 0.0)) == []
    matches = pipeline.configure_matching('nearest', 20 * MS, 60_000 * MS, 1000 * MS, 100)
    assert matches == [Match(0.8, 0.8, 0)]
    assert pipeline.counts.learned == 1


def test_reset_forgets_what_was_learned_and_keeps_what_is_pending():
    pipeline = make()
    learn(pipeline, 1000 * MS, 0.8, 0)
    predict(pipeline, 1100 * MS, 0.7)
    pipeline.reset()
    assert pipeline.calibrator.state() == create('ops').state()
    assert pipeline.raw.count == pipeline.calibrated.count == 0
    assert [match.raw for match in pipeline.label(Label(1100 * MS, 1.0))] == [0.7]


def test_new_window_starts_the_figures_anew():
    pipeline = make()
    learn(pipeline, MS, 0.8, 0)
    pipeline.set_window(bins=10, window=2)
    assert pipeline.raw.count == pipeline.calibrated.count == 0
    assert (pipeline.raw.bins, pipeline.calibrated.window) == (10, 2)


def test_same_messages_in_the_same_order_give_the_same_state_to_the_last_bit():
    def run() -> tuple[dict, list[float | None]]:
        generator = random.Random(11)
        pipeline = make(forgetting=0.999)
        out, waiting = [], []
        for number in range(1, 3001):
            stamp = number * 10 * MS + generator.randint(-MS, MS)
            p = generator.random()
            out.append(predict(pipeline, stamp, p))
            waiting.append(Label(stamp + generator.randint(-MS, MS), generator.random() < p * p))
            while waiting and generator.random() < 0.5:
                pipeline.label(waiting.pop(generator.randrange(len(waiting))))
        pipeline.flush()
        return pipeline.calibrator.state(), out

    assert run() == run()
