# SPDX-License-Identifier: Apache-2.0
"""What labels do on a robot, through the pipeline: what is learned, and what is told of the rest.

Times are seconds after the start of a recording.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from calib_node.core.calibrators import create
from calib_node.core.calibrators.base import Calibrator
from calib_node.core.matching import StampMatcher, create_matcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import NANOSECONDS, Label, Prediction

START = 1_700_000_000 * NANOSECONDS


def make(
    tolerance: float = 0.01, horizon: float = 60.0, capacity: int = 10_000, policy: str = 'nearest'
) -> Pipeline[float]:
    times = [round(seconds * NANOSECONDS) for seconds in (tolerance, horizon, 1.0)]
    return Pipeline(create('ops'), create_matcher(policy, *times, capacity))


def at(seconds: float) -> int:
    return START + round(seconds * NANOSECONDS)


def predict(pipeline: Pipeline[float], seconds: float, p: float = 0.8) -> None:
    pipeline.predict(Prediction(at(seconds), p))


def label(pipeline: Pipeline[float], seconds: float, y: int = 0) -> int:
    """Send a label and return how many updates there are now."""
    pipeline.label(Label(at(seconds), float(y)))
    return pipeline.calibrator.updates


def taught(pairs: Iterable[tuple[float, int]]) -> Calibrator:
    """Return the calibrator that has learned the pairs one after the other."""
    calibrator = create('ops')
    for p, y in pairs:
        calibrator.update(p, y)
    return calibrator


def assert_learned(pipeline: Pipeline[float], pairs: list[tuple[float, int]]) -> None:
    assert pipeline.calibrator.state() == taught(pairs).state()
    assert pipeline.counts.learned == len(pairs)


def samples(number: int, seed: int = 4) -> list[tuple[float, int]]:
    generator = random.Random(seed)
    return [(generator.random(), generator.randrange(2)) for _ in range(number)]


def test_a_bag_that_loops_teaches_each_round_and_what_was_learned_stays():
    pipeline = make()
    first, second = samples(20), samples(50, seed=5)
    for t, (p, y) in enumerate(first, 100):
        predict(pipeline, t, p)
        label(pipeline, t, y)
    # The last ones of the round still wait when it begins anew.
    for t in range(120, 125):
        predict(pipeline, t)
    for t, (p, y) in enumerate(second):
        predict(pipeline, t, p)
        assert label(pipeline, t, y) == 20 + t + 1
    assert_learned(pipeline, first + second)
    assert pipeline.matcher.counts.jumps_back == 1
    assert pipeline.matcher.counts.expired == 5


def test_a_round_without_labels_does_not_keep_the_next_from_its_own():
    pipeline = make()
    for t in range(100, 120):
        predict(pipeline, t)
    pairs = samples(50)
    for t, (p, y) in enumerate(pairs):
        predict(pipeline, t, p)
        label(pipeline, t, y)
    assert_learned(pipeline, pairs)


def test_stamps_from_zero_on_match_too():
    """Only in a message does a stamp of 0 say that there is none."""
    matcher: StampMatcher[int, int] = StampMatcher()
    for t in range(100, 120):
        matcher.add_prediction(t * NANOSECONDS, t)
    matches = []
    for t in range(50):
        matches += matcher.add_prediction(t * NANOSECONDS, t)
        matches += matcher.add_label(t * NANOSECONDS, t)
    assert matches == [(t, t) for t in range(50)]


def test_two_labels_in_the_other_order_are_two_updates():
    pipeline = make()
    predict(pipeline, 1.0, 0.8)
    predict(pipeline, 2.0, 0.3)
    assert label(pipeline, 2.0, 1) == 1
    assert label(pipeline, 1.0, 0) == 2
    assert_learned(pipeline, [(0.3, 1), (0.8, 0)])


@pytest.mark.parametrize('shift', [1.0, -1.0])
def test_labels_a_second_off_match_nothing_and_it_is_known_how_far_they_are(shift):
    pipeline = make()
    for number in range(25):
        predict(pipeline, 4.0 * number)
        label(pipeline, 4.0 * number + shift)
        assert pipeline.matcher.miss == shift * NANOSECONDS
    assert pipeline.calibrator.updates == 0
    assert pipeline.counts.labels_since_match == 25
    pipeline.flush()
    assert pipeline.scores.raw.count == 0
    assert pipeline.matcher.counts.unmatched == 25


def test_labels_before_their_predictions_are_learned():
    pipeline = make()
    pairs = samples(100)
    for t, (_, y) in enumerate(pairs):
        label(pipeline, t, y)
    assert pipeline.matcher.pending_labels == 100
    for t, (p, _) in enumerate(pairs):
        predict(pipeline, t, p)
    assert_learned(pipeline, pairs)


@pytest.mark.parametrize('jitter', [0.0, 0.004])
def test_labels_at_a_fifteenth_of_the_rate_are_all_learned(jitter):
    pipeline = make()
    pairs = samples(600)
    generator = random.Random(9)
    for number, (p, y) in enumerate(pairs):
        predict(pipeline, number / 30, p)
        if number % 15 == 0:
            label(pipeline, number / 30 + generator.uniform(-jitter, jitter), y)
    pipeline.flush()
    assert_learned(pipeline, pairs[::15])
    assert pipeline.matcher.counts.expired == 560


@pytest.mark.parametrize('policy', ['nearest', 'exact'])
@pytest.mark.parametrize('oldest', [0, 9_000], ids=['oldest', 'newest'])
def test_a_burst_of_labels_among_ten_thousand_that_wait_loses_none(policy, oldest):
    pipeline = make(policy=policy)
    pairs = samples(10_000)
    for number, (p, _) in enumerate(pairs):
        predict(pipeline, number / 1000, p)
    assert pipeline.matcher.pending_predictions == 10_000
    burst = list(range(oldest, oldest + 1000))
    random.Random(2).shuffle(burst)
    for number in burst:
        label(pipeline, number / 1000, pairs[number][1])
    assert_learned(pipeline, [pairs[number] for number in burst])
    assert pipeline.matcher.pending_predictions == 9_000


def test_a_label_sent_twice_is_learned_once():
    pipeline = make()
    predict(pipeline, 1.0)
    assert [label(pipeline, 1.0), label(pipeline, 1.0)] == [1, 1]
    predict(pipeline, 2.0)
    assert_learned(pipeline, [(0.8, 0)])
    assert pipeline.matcher.counts.duplicate == 1


def test_a_prediction_sent_twice_is_learned_once_and_its_copy_expires():
    pipeline = make(horizon=5.0)
    predict(pipeline, 1.0)
    predict(pipeline, 1.0)
    assert label(pipeline, 1.0) == 1
    predict(pipeline, 4.0)
    predict(pipeline, 7.0)
    assert_learned(pipeline, [(0.8, 0)])
    assert pipeline.matcher.counts.expired == 1
    assert pipeline.matcher.counts.same_stamp == 1


def test_the_label_of_an_expired_prediction_teaches_nothing():
    pipeline = make(horizon=5.0)
    for t in range(10):
        predict(pipeline, t)
    assert pipeline.matcher.counts.expired == 4
    assert label(pipeline, 2.0) == 0
    assert pipeline.matcher.counts.unmatched == 1
    assert label(pipeline, 4.0) == 1


def test_a_label_minutes_late_is_learned_within_the_horizon():
    pipeline = make(horizon=600.0)
    pairs = samples(5_400)
    for number, (p, _) in enumerate(pairs):
        predict(pipeline, number / 10, p)
    # The first is nine minutes old.
    for number in (0, 5_000, 2_000):
        label(pipeline, number / 10, pairs[number][1])
    assert_learned(pipeline, [pairs[number] for number in (0, 5_000, 2_000)])
