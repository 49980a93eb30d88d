# SPDX-License-Identifier: Apache-2.0
"""The whole behaviour without ROS, with a probability a class."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from calib_node.core.calibrators import UpdateNotFinite, create, create_multiclass
from calib_node.core.matching import StampMatcher
from calib_node.core.metrics import multiclass_brier, multiclass_log_loss, top_label_ece
from calib_node.core.pipeline import MulticlassPipeline, MulticlassReliability
from calib_node.core.pipeline.figures import RollingMean
from calib_node.core.refusal import Refused
from calib_node.core.samples import Label, Match, Prediction
from calib_node.core.state.document import make_document, restore_document
from calib_node.core.state.fields import StateError

MS = 1_000_000
SURE = np.array([0.8, 0.15, 0.05])


def make(
    classes: int = 3, method: str = 'ops', learning: bool = True, **parameters: Any
) -> MulticlassPipeline:
    calibrator = create_multiclass(method, classes, **parameters)
    return MulticlassPipeline(calibrator, StampMatcher(), learning=learning)


def predict(pipeline: MulticlassPipeline, stamp: int, p: Any) -> Any:
    return pipeline.predict(Prediction(stamp, p)).probability


def learn(pipeline: MulticlassPipeline, stamp: int, p: Any, y: int) -> list[Match]:
    predict(pipeline, stamp, p)
    return pipeline.label(Label(stamp, float(y)))


def samples(classes: int, number: int, seed: int = 5) -> list[tuple[np.ndarray, int]]:
    """Return overconfident probabilities and their labels."""
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(classes, 0.4), number)
    truth = [generator.choice(classes, p=0.5 * p + 0.5 / classes) for p in rows]
    return [(p, int(y)) for p, y in zip(rows, truth)]


def assert_match(match: Match, raw: Any, published: Any, label: int) -> None:
    assert match.raw.tolist() == list(raw)
    assert match.published.tolist() == list(published)
    assert match.label == label


# Learning


@pytest.mark.parametrize('method', ['ops', 'tops', 'temperature'])
@pytest.mark.parametrize('classes', [2, 5])
def test_a_prompt_label_is_learned_as_the_calibrator_learns_it(method, classes):
    pipeline, calibrator = make(classes, method), create_multiclass(method, classes)
    for number, (p, y) in enumerate(samples(classes, 60), 1):
        expected, ticket = calibrator.issue(p)
        calibrator.update(p, y, ticket)
        answer = pipeline.predict(Prediction(number * 100 * MS, p))
        assert answer.stamp == number * 100 * MS
        assert answer.probability.tolist() == expected.tolist()
        (match,) = pipeline.label(Label(number * 100 * MS, float(y)))
        assert_match(match, p, expected, y)
    assert pipeline.calibrator.state() == calibrator.state()
    assert pipeline.counts.learned == calibrator.updates == 60
    assert pipeline.classes == classes


def test_a_late_label_is_learned_with_the_ticket_of_its_forecast():
    pipeline, calibrator = make(), create_multiclass('ops', 3)
    waiting = []
    for number, (p, y) in enumerate(samples(3, 60), 1):
        waiting.append((number * 100 * MS, p, y, *calibrator.issue(p)))
        predict(pipeline, number * 100 * MS, p)
        if number % 20:
            continue
        # A forecast of today would be made of other logits.
        pipeline.calibrator.configure(clip=0.1 / number)
        calibrator.configure(clip=0.1 / number)
        for stamp, raw, label, published, ticket in reversed(waiting):
            calibrator.update(raw, label, ticket)
            (match,) = pipeline.label(Label(stamp, float(label)))
            assert_match(match, raw, published, label)
        waiting.clear()
    assert pipeline.calibrator.state() == calibrator.state()


def test_an_early_label_is_learned_when_its_prediction_has_been_answered():
    early, prompt = make(), make()
    assert early.label(Label(MS, 2.0)) == []
    assert predict(early, MS, SURE).tolist() == make().calibrator.predict(SURE).tolist()
    learn(prompt, MS, SURE, 2)
    assert early.calibrator.state() == prompt.calibrator.state()


def test_a_label_within_the_tolerance_is_decided_by_the_next_prediction():
    pipeline = make()
    predict(pipeline, 1000 * MS, SURE)
    assert pipeline.label(Label(1004 * MS, 1.0)) == []
    predict(pipeline, 1100 * MS, SURE)
    assert pipeline.counts.learned == 1


def test_without_learning_matches_are_scored_and_never_learned_later():
    pipeline = make(learning=False)
    learn(pipeline, 1000 * MS, SURE, 1)
    assert (pipeline.raw.count, pipeline.calibrator.updates) == (1, 0)
    pipeline.learning = True
    assert pipeline.flush() == []
    assert pipeline.calibrator.state() == make().calibrator.state()


def test_an_update_that_fails_is_shown_until_the_next_that_does_not(monkeypatch):
    pipeline = make()

    def fail(*_):
        raise UpdateNotFinite('of class 1: not finite')

    with monkeypatch.context() as patch:
        patch.setattr(pipeline.calibrator, 'update', fail)
        assert len(learn(pipeline, 1000 * MS, SURE, 0)) == 1
    assert pipeline.update_error == 'of class 1: not finite'
    assert (pipeline.counts.failed_updates, pipeline.counts.learned) == (1, 0)
    learn(pipeline, 1100 * MS, SURE, 0)
    assert (pipeline.update_error, pipeline.counts.learned) == ('', 1)


def test_reset_forgets_what_was_learned_and_keeps_what_is_pending():
    pipeline = make()
    pipeline.set_window(bins=10, window=20)
    learn(pipeline, 1000 * MS, SURE, 1)
    predict(pipeline, 1100 * MS, SURE)
    pipeline.reset()
    assert (pipeline.raw.bins, pipeline.calibrated.window) == (10, 20)
    assert pipeline.calibrator.state() == make().calibrator.state()
    assert pipeline.raw.count == pipeline.calibrated.count == 0
    assert len(pipeline.label(Label(1100 * MS, 1.0))) == 1


def test_same_messages_in_the_same_order_give_the_same_state_to_the_last_bit():
    def run() -> tuple[dict, list]:
        pipeline, rng, out, waiting = make(4, forgetting=0.99), random.Random(3), [], []
        for number, (p, y) in enumerate(samples(4, 500), 1):
            stamp = number * 10 * MS + rng.randint(-MS, MS)
            out.append(predict(pipeline, stamp, p).tolist())
            waiting.append(Label(stamp + rng.randint(-MS, MS), float(y)))
            while waiting and rng.random() < 0.5:
                pipeline.label(waiting.pop(rng.randrange(len(waiting))))
        pipeline.flush()
        return pipeline.calibrator.state(), out

    assert run() == run()


def test_a_thousand_classes():
    pipeline = make(1000)
    for number, (p, y) in enumerate(samples(1000, 20), 1):
        assert len(learn(pipeline, number * 100 * MS, p, y)) == 1
    q = predict(pipeline, 5000 * MS, samples(1000, 1)[0][0])
    assert q.sum() == pytest.approx(1.0)
    assert pipeline.counts.learned == 20


# The gate


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ('p', 'reason', 'words'),
    [
        ([0.5, 0.5], 'wrong_length', '2 instead of 3'),
        ([0.25, 0.25, 0.25, 0.25], 'wrong_length', '4 instead of 3'),
        ([1.0], 'wrong_length', '1 instead of 3'),
        (0.5, 'wrong_length', r'an array of shape \(\) instead of 3'),
        ([[0.8, 0.15, 0.05]], 'wrong_length', r'an array of shape \(1, 3\) instead of 3'),
        ([NAN, 0.5, 0.5], 'not_finite', 'nan for class 0'),
        ([0.5, INF, 0.5], 'not_finite', 'inf for class 1'),
        ([0.5, 0.5, -INF], 'not_finite', '-inf for class 2'),
        ([0.5, 0.7, -0.2], 'out_of_range', '-0.2 for class 2'),
        ([1.5, 0.0, 0.0], 'out_of_range', '1.5 for class 0'),
        ([1.0 + 1.1e-6, 0.0, 0.0], 'out_of_range', 'for class 0'),
        ([1.0, 0.0, -1.1e-6], 'out_of_range', 'for class 2'),
        ([0.5, 0.4, 0.0989], 'bad_sum', '0.9989'),
        ([0.5, 0.4, 0.1011], 'bad_sum', '1.0011'),
        ([0.0, 0.0, 0.0], 'bad_sum', '0.0'),
        ([1.0, 1.0, 1.0], 'bad_sum', '3.0'),
    ],
)
def test_a_refused_prediction_is_counted_by_reason_and_never_learned(p, reason, words):
    pipeline = make()
    with pytest.raises(Refused, match=words) as refusal:
        predict(pipeline, MS, np.array(p))
    assert refusal.value.reason == reason
    assert dict(pipeline.counts.refused) == {reason: 1}
    pipeline.label(Label(MS, 1.0))
    assert pipeline.flush() == []
    assert pipeline.calibrator.state() == make().calibrator.state()


@pytest.mark.parametrize('p', [[NAN, 0.5, 0.5], [0.9, 0.9, 0.9], [0.5, 0.5]])
def test_the_label_of_a_refused_prediction_goes_to_no_neighbour(p):
    pipeline = make()
    predict(pipeline, 1000 * MS, SURE)
    with pytest.raises(Refused):
        predict(pipeline, 1008 * MS, np.array(p))
    assert pipeline.label(Label(1006 * MS, 1.0)) == []
    predict(pipeline, 1100 * MS, SURE)
    assert pipeline.counts.learned == 0
    assert pipeline.matcher.pending_predictions == 2


@pytest.mark.parametrize('classes', [2, 10, 1000])
@pytest.mark.parametrize('kind', [np.float32, np.float16])
def test_what_a_softmax_of_less_precision_gives_is_taken(classes, kind):
    logits = np.random.default_rng(1).normal(0.0, 3.0, (50, classes)).astype(np.float32)
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows = (e / e.sum(axis=1, keepdims=True)).astype(kind)
    pipeline = make(classes)
    for number, row in enumerate(rows, 1):
        (match,) = learn(pipeline, number * 100 * MS, row, number % classes)
        assert match.raw.tolist() == row.tolist()
        assert match.raw.dtype == np.float64


@pytest.mark.parametrize('total', [1.0 - 9e-4, 1.0 + 9e-4])
def test_a_sum_near_one_is_taken_as_it_is(total):
    p = np.array([0.6, 0.3, total - 0.9])
    (match,) = learn(make(), MS, p, 0)
    assert match.raw.tolist() == p.tolist()


@pytest.mark.parametrize(
    ('p', 'clamped'),
    [
        ([1.0 + 1e-6, -1e-6, 0.0], [1.0, 0.0, 0.0]),
        ([1.0 + 1e-6, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ([0.7, 0.3, -1e-6], [0.7, 0.3, 0.0]),
    ],
)
def test_a_small_overshoot_is_clamped_and_the_callers_array_is_not_touched(p, clamped):
    given = np.array(p)
    (match,) = learn(make(), MS, given, 0)
    assert match.raw.tolist() == clamped
    assert given.tolist() == p


def test_the_callers_array_is_not_touched_by_calibrating_and_learning():
    given = SURE.copy()
    learn(make(), MS, given, 1)
    assert given.tolist() == SURE.tolist()


@pytest.mark.parametrize(
    ('stamp', 'value', 'reason'),
    [
        (MS, 3.0, 'bad_label'),
        (MS, -1.0, 'bad_label'),
        (MS, 0.5, 'bad_label'),
        (MS, 1.5, 'bad_label'),
        (MS, 1e300, 'bad_label'),
        (MS, NAN, 'not_finite'),
        (MS, INF, 'not_finite'),
        (MS, -INF, 'not_finite'),
        (0, 1.0, 'zero_stamp'),
    ],
)
def test_a_refused_label_is_counted_and_its_prediction_waits(stamp, value, reason):
    pipeline = make()
    predict(pipeline, MS, SURE)
    with pytest.raises(Refused) as refusal:
        pipeline.label(Label(stamp, value))
    assert refusal.value.reason == reason
    assert dict(pipeline.counts.refused) == {reason: 1}
    assert pipeline.matcher.pending_predictions == 1
    assert len(pipeline.label(Label(MS, 2.0))) == 1


def test_the_refusal_of_a_label_says_which_classes_there_are():
    with pytest.raises(Refused, match=r'one of 7 classes, 0 to 6 \(7\.0\)'):
        make(7).label(Label(MS, 7.0))


@pytest.mark.parametrize('label', range(5))
def test_every_class_is_a_label(label):
    (match,) = learn(make(5), MS, np.full(5, 0.2), label)
    assert (match.label, type(match.label)) == (label, int)


def test_no_opinion_passes_through_and_its_label_teaches_nothing():
    pipeline = make()
    opinionless = Prediction(1005 * MS, None)
    assert pipeline.predict(opinionless) is opinionless
    predict(pipeline, 1012 * MS, SURE)
    pipeline.label(Label(1006 * MS, 1.0))
    assert pipeline.flush() == []
    assert (pipeline.counts.learned, pipeline.counts.no_opinion, pipeline.raw.count) == (0, 1, 0)


def test_a_prediction_without_a_stamp_is_calibrated_but_never_learned():
    pipeline = make()
    learn(pipeline, MS, SURE, 1)
    assert predict(pipeline, 0, SURE).tolist() == pipeline.calibrator.predict(SURE).tolist()
    assert pipeline.counts.unstamped == 1
    assert pipeline.matcher.pending_predictions == 0


def test_an_empty_label_is_ignored_and_counted():
    pipeline = make()
    assert pipeline.label(Label(MS, None)) == []
    assert (pipeline.counts.empty_labels, pipeline.matcher.pending_labels) == (1, 0)


# Figures


def test_figures_are_those_of_the_top_class_and_of_all_classes():
    pipeline = make(4)
    matches = []
    for number, (p, y) in enumerate(samples(4, 200), 1):
        matches += learn(pipeline, number * 100 * MS, p, y)
    y = [match.label for match in matches]
    for figures, rows in (
        (pipeline.raw, [match.raw for match in matches]),
        (pipeline.calibrated, [match.published for match in matches]),
    ):
        assert figures.count == 200
        assert figures.ece() == pytest.approx(top_label_ece(rows, y), abs=1e-12)
        assert figures.brier() == pytest.approx(multiclass_brier(rows, y), abs=1e-12)
        assert figures.log_loss() == pytest.approx(multiclass_log_loss(rows, y), abs=1e-12)
        assert sum(count for count, _, _ in figures.table()) == 200
    assert pipeline.calibrated.ece() < pipeline.raw.ece()
    assert pipeline.calibrated.brier() < pipeline.raw.brier()


def test_scored_is_what_was_published():
    pipeline = make()
    predict(pipeline, 1000 * MS, SURE)
    first = predict(pipeline, 1100 * MS, SURE)
    pipeline.label(Label(1000 * MS, 1.0))
    pipeline.label(Label(1100 * MS, 1.0))
    assert pipeline.calibrated.brier() == pytest.approx(multiclass_brier([first, first], [1, 1]))


def test_the_window_holds_the_last_matches():
    pipeline = make(method='identity')
    pipeline.set_window(bins=10, window=20)
    everything = samples(3, 70)
    for number, (p, y) in enumerate(everything, 1):
        learn(pipeline, number * 100 * MS, p, y)
    rows, y = zip(*everything[-20:])
    assert (pipeline.raw.bins, pipeline.raw.window, pipeline.raw.count) == (10, 20, 20)
    assert pipeline.raw.ece() == pytest.approx(top_label_ece(rows, y, 10), abs=1e-12)
    assert pipeline.raw.brier() == pytest.approx(multiclass_brier(rows, y), abs=1e-12)
    assert pipeline.raw.log_loss() == pytest.approx(multiclass_log_loss(rows, y), abs=1e-12)


def test_log_loss_of_a_certain_mistake_is_clipped():
    figures = MulticlassReliability()
    figures.add(np.array([1.0, 0.0]), 1)
    assert figures.log_loss() == pytest.approx(multiclass_log_loss([[1.0, 0.0]], [1]))
    assert figures.brier() == 2.0


def test_of_equal_classes_the_first_is_the_top():
    figures = MulticlassReliability(bins=1)
    figures.add(np.array([0.4, 0.4, 0.2]), 0)
    assert figures.table() == [(1, pytest.approx(0.4), 1.0)]
    figures.add(np.array([0.4, 0.4, 0.2]), 1)
    assert figures.table() == [(2, pytest.approx(0.4), 0.5)]


@pytest.mark.parametrize('label', [-1, 3])
def test_figures_refuse_a_class_that_there_is_not(label):
    figures = MulticlassReliability()
    with pytest.raises(ValueError, match='from 0 to 2'):
        figures.add(SURE, label)
    assert figures.count == 0


def test_figures_refuse_what_is_no_probability_and_stay_whole():
    figures = MulticlassReliability()
    figures.add(SURE, 0)
    before = (figures.ece(), figures.brier(), figures.log_loss())
    with pytest.raises(ValueError, match='probability'):
        figures.add(np.array([1.5, 0.2, 0.1]), 0)
    assert (figures.ece(), figures.brier(), figures.log_loss()) == before


def test_an_empty_window_has_no_scores():
    figures = MulticlassReliability()
    for score in (figures.ece, figures.brier, figures.log_loss):
        with pytest.raises(ValueError, match='the window is empty'):
            score()


def test_the_rolling_mean_forgets_an_outlier_exactly():
    rolling, fresh = RollingMean(3), RollingMean(3)
    for number in (1e9, 0.1, 0.2, 0.3):
        rolling.add(number)
    for number in (0.1, 0.2, 0.3):
        fresh.add(number)
    assert rolling.mean() == fresh.mean() == pytest.approx(0.2)


# The state file


def taught(calibrator: Any, p: Any, y: int) -> Any:
    calibrator.update(p, y)
    return calibrator


@pytest.mark.parametrize('method', ['ops', 'tops', 'temperature', 'identity'])
def test_a_saved_state_says_its_classes_and_comes_back(method):
    document = make_document(taught(create_multiclass(method, 3), SURE, 1), '/calib_node')
    assert (document['method'], document['classes']) == (method, 3)
    restored = create_multiclass(method, 3)
    restore_document(restored, document)
    assert make_document(restored, '/calib_node') == document


@pytest.mark.parametrize('method', ['ops', 'identity'])
def test_a_state_of_another_number_of_classes_is_refused(method):
    of_three = make_document(taught(create_multiclass(method, 3), SURE, 1), '/calib_node')
    binary = make_document(taught(create(method), 0.8, 1), '/calib_node')
    for calibrator, document, words in [
        (create_multiclass(method, 4), of_three, 'classes 3, not with 4'),
        (create_multiclass(method, 3), binary, 'classes 1, not with 3'),
        (create(method), of_three, 'classes 3, not with 1'),
    ]:
        before = calibrator.state()
        with pytest.raises(StateError, match=words):
            restore_document(calibrator, document)
        assert calibrator.state() == before
