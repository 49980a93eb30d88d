# SPDX-License-Identifier: Apache-2.0
"""Scores of the last matches, raw and calibrated, against those of whole arrays."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import one_and_many
from whole_scores import assert_scores

from calib_node.core.metrics.rolling_scores import SCORED_AT_ONCE, RollingScores
from calib_node.core.outcomes import outcomes_of
from calib_node.core.samples import Match

PROBABILITIES = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 1.0])


def match_of(raw: Any, published: Any, label: int) -> Match[Any]:
    return Match(1, '', (), raw, published, label)


def matches(classes: int, number: int, seed: int = 5) -> list[Match[Any]]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(max(classes, 2), size=number).tolist()
    if classes == 1:
        pairs = generator.random((number, 2)).tolist()
    else:
        pairs = generator.dirichlet(np.full(classes, 0.4), (number, 2))
    return [match_of(raw, published, y) for (raw, published), y in zip(pairs, labels)]


def check(scores: RollingScores[Any], last: list[Match[Any]], tolerance: float = 1e-12) -> None:
    y = [match.label for match in last]
    assert_scores(scores.raw, [match.raw for match in last], y, tolerance)
    assert_scores(scores.calibrated, [match.published for match in last], y, tolerance)
    assert scores.error == ''


@one_and_many
@pytest.mark.parametrize('every', [1, 7, SCORED_AT_ONCE, SCORED_AT_ONCE + 1, 100])
def test_they_are_those_of_the_last_matches_however_seldom_they_are_asked(every, classes):
    scores = outcomes_of(classes).scores(bins=10, window=50)
    everything = matches(classes, 310)
    for number, match in enumerate(everything, 1):
        scores(match)
        if number % every == 0:
            check(scores, everything[max(number - 50, 0) : number])
    check(scores, everything[-50:])


@given(
    st.lists(st.tuples(PROBABILITIES, PROBABILITIES, st.integers(0, 1)), max_size=120),
    st.integers(1, 40),
    st.integers(1, 60),
    st.randoms(use_true_random=False),
)
def test_they_are_right_at_any_time(samples, bins, window, chance):
    scores = outcomes_of(1).scores(bins, window)
    everything = [match_of(*sample) for sample in samples]
    for number, match in enumerate(everything, 1):
        scores(match)
        if chance.random() < 0.05:
            check(scores, everything[max(number - window, 0) : number])
    check(scores, everything[-window:])


@one_and_many
def test_asking_changes_nothing(classes):
    asked, unasked = (outcomes_of(classes).scores(15, 200) for _ in range(2))
    generator = random.Random(4)
    for match in matches(classes, 1000):
        asked(match)
        unasked(match)
        if generator.random() < 0.1:
            assert asked.raw.count <= 200
    for ours, theirs in ((asked.raw, unasked.raw), (asked.calibrated, unasked.calibrated)):
        assert (ours.ece(), ours.brier()) == (theirs.ece(), theirs.brier())
        assert ours.log_loss() == theirs.log_loss()


@one_and_many
def test_other_bins_or_another_window_start_them_anew(classes):
    scores = outcomes_of(classes).scores(15, 1000)
    everything = matches(classes, 80)
    for match in everything[:20]:
        scores(match)
    scores.configure(bins=10, window=30)
    assert scores.raw.count == scores.calibrated.count == 0
    assert (scores.raw.bins, scores.calibrated.bins) == (10, 10)
    assert (scores.raw.window, scores.calibrated.window) == (30, 30)
    for match in everything[20:]:
        scores(match)
    check(scores, everything[-30:])
    for match in everything[:5]:
        scores(match)
    scores.restart()
    assert (scores.raw.count, scores.raw.bins, scores.raw.window) == (0, 10, 30)


@one_and_many
@pytest.mark.parametrize('wrong', [(0, 10), (10, 0)])
def test_a_window_of_no_size_is_refused(wrong, classes):
    with pytest.raises(ValueError, match='bins and window must be at least 1'):
        outcomes_of(classes).scores(*wrong)


@pytest.mark.parametrize(
    ('classes', 'published'),
    [
        (1, 1.5),
        (1, math.nan),
        (1, 'text'),
        (3, np.array([1.5, 0.0, 0.0])),
        (3, np.array([0.5, math.nan, 0.5])),
        (3, np.array([0.9, -math.inf, 0.1])),
        (3, np.array([0.9, -1e200, 0.1])),
        (3, None),
    ],
)
@pytest.mark.parametrize('where', [0, 20, 99])
def test_a_match_that_cannot_be_scored_is_in_no_score_and_told(classes, published, where):
    scores = outcomes_of(classes).scores(15, 1000)
    everything = matches(classes, 100)
    for number, match in enumerate(everything):
        if number == where:
            scores(match_of(match.raw, published, match.label))
        else:
            scores(match)
    assert scores.error.startswith('a match could not be scored: ')
    del everything[where]
    y = [match.label for match in everything]
    assert_scores(scores.raw, [match.raw for match in everything], y, 1e-12)
    assert_scores(scores.calibrated, [match.published for match in everything], y, 1e-12)
    scores.restart()
    assert scores.error == ''


def test_what_could_not_be_scored_is_told_at_once():
    scores = outcomes_of(1).scores(15, 1000)
    scores(match_of(0.5, 1.5, 1))
    assert scores.error == (
        'a match could not be scored: ValueError: a probability must be within [0, 1], not 1.5'
    )
