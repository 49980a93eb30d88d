# SPDX-License-Identifier: Apache-2.0
"""Scores of a rolling window, against those of whole arrays."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from whole_scores import assert_scores

from calib_node.core.metrics import RollingReliability, multiclass_log_loss
from calib_node.core.metrics.rolling_multiclass import MulticlassReliability, RollingMean


@pytest.mark.parametrize(('bins', 'window'), [(0, 10), (10, 0), (-1, 10)])
def test_window_of_no_size_is_refused(bins, window):
    with pytest.raises(ValueError, match='bins and window must be at least 1'):
        RollingReliability(bins, window)


@pytest.mark.parametrize(
    ('p', 'index'),
    [(0.0, 0), (0.1, 1), (math.nextafter(0.1, 0), 0), (0.95, 9), (math.nextafter(1, 0), 9), (1, 9)],
)
def test_bins_are_left_closed_and_the_last_holds_1(p, index):
    rolling = RollingReliability(bins=10)
    rolling.add(p, 1)
    assert [n for n, _, _ in rolling.table()].index(1) == index


@pytest.mark.parametrize('score', ['ece', 'brier', 'log_loss'])
@pytest.mark.parametrize(
    ('make', 'p'), [(RollingReliability, 0.5), (MulticlassReliability, np.array([0.5, 0.5]))]
)
def test_empty_window_has_no_scores(make, p, score):
    rolling = make()
    with pytest.raises(ValueError, match='the window is empty'):
        getattr(rolling, score)()
    rolling.add(p, 1)
    assert getattr(rolling, score)() >= 0.0


@pytest.mark.parametrize('score', ['ece', 'brier', 'log_loss'])
def test_cleared_window_has_no_scores(score):
    rolling = RollingReliability()
    rolling.add(0.5, 1)
    rolling.clear()
    with pytest.raises(ValueError, match='the window is empty'):
        getattr(rolling, score)()


samples = st.tuples(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1))


@given(st.lists(samples, min_size=1, max_size=60), st.integers(1, 40), st.integers(1, 20))
def test_rolling_is_the_score_of_the_last_samples(stream, bins, window):
    rolling = RollingReliability(bins, window)
    for p, y in stream:
        rolling.add(p, y)
    p, y = zip(*stream[-window:])
    assert_scores(rolling, p, y, 1e-14)


@pytest.mark.parametrize('count', [60_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_rolling_does_not_drift(count):
    generator = random.Random(5)
    p = [generator.random() ** 3 for _ in range(count)]
    y = [int(generator.random() < value) for value in p]
    rolling = RollingReliability(bins=15, window=1000)
    for number, (value, label) in enumerate(zip(p, y), start=1):
        rolling.add(value, label)
        if number % 20_000 == 0:
            assert_scores(rolling, p[number - 1000 : number], y[number - 1000 : number], 1e-13)


@pytest.mark.parametrize('label_type', [np.int64, np.int8, np.bool_, np.float64, float, bool])
@pytest.mark.parametrize('p_type', [np.float32, np.float64, float])
def test_numbers_of_any_kind_are_summed_exactly(p_type, label_type):
    """Shifted by 60 bits a whole number of numpy overflows, and a float cannot be shifted."""
    p, y = [p_type(0.7), p_type(0.3)] * 10, [label_type(1), label_type(0)] * 10
    rolling = RollingReliability(bins=10)
    for value, label in zip(p, y):
        rolling.add(value, label)
    assert_scores(rolling, p, y, 1e-14)


def test_an_outlier_leaves_nothing_behind():
    """A float sum that has seen 1 keeps no digits of 1e-15 below 2e-16."""
    rolling = RollingReliability(bins=1, window=10)
    for p in [1.0, *[1e-15 + 1e-17] * 10]:
        rolling.add(p, 0)
    assert rolling.ece() == pytest.approx(1.01e-15, abs=2e-18)


@pytest.mark.parametrize(
    ('p', 'y', 'sentence'),
    [
        (-0.5, 1, r'within \[0, 1\], not -0.5'),
        (float('nan'), 1, 'not nan'),
        (0.5, 2, '0 or 1, not 2'),
    ],
)
def test_bad_sample_does_not_get_into_the_window(p, y, sentence):
    rolling = RollingReliability()
    with pytest.raises(ValueError, match=sentence):
        rolling.add(p, y)
    assert rolling.count == 0


# Of several classes


rows = st.lists(st.floats(1e-6, 1.0), min_size=3, max_size=3).map(
    lambda weights: np.array(weights) / sum(weights)
)


@given(
    st.lists(st.tuples(rows, st.integers(0, 2)), min_size=1, max_size=60),
    st.integers(1, 40),
    st.integers(1, 20),
)
def test_of_several_classes_too_it_is_the_score_of_the_last_samples(stream, bins, window):
    rolling = MulticlassReliability(bins, window)
    for p, y in stream:
        rolling.add(p, y)
    p, y = zip(*stream[-window:])
    assert_scores(rolling, p, y, 1e-13)
    assert (rolling.bins, rolling.window) == (bins, window)


def test_log_loss_of_a_certain_mistake_is_clipped():
    rolling = MulticlassReliability()
    rolling.add(np.array([1.0, 0.0]), 1)
    assert rolling.log_loss() == pytest.approx(multiclass_log_loss([[1.0, 0.0]], [1]))
    assert rolling.brier() == 2.0


def test_of_equal_classes_the_first_is_the_top():
    rolling = MulticlassReliability(bins=1)
    rolling.add(np.array([0.4, 0.4, 0.2]), 0)
    assert rolling.table() == [(1, pytest.approx(0.4), 1.0)]
    rolling.add(np.array([0.4, 0.4, 0.2]), 1)
    assert rolling.table() == [(2, pytest.approx(0.4), 0.5)]


@pytest.mark.parametrize('label', [-1, 3])
def test_a_class_that_there_is_not_is_refused(label):
    rolling = MulticlassReliability()
    with pytest.raises(ValueError, match='from 0 to 2'):
        rolling.add(np.array([0.8, 0.15, 0.05]), label)
    assert rolling.count == 0


@pytest.mark.parametrize(
    'p', [[1.5, 0.2, 0.1], [0.9, -0.1, 0.2], [0.9, -1e200, 0.1], [0.5, math.nan, 0.5]]
)
def test_what_is_no_probability_is_refused_and_the_window_stays_whole(p):
    rolling = MulticlassReliability()
    good = np.array([0.8, 0.15, 0.05])
    rolling.add(good, 0)
    with pytest.raises(ValueError, match='a probability must be within'):
        rolling.add(np.array(p), 0)
    rolling.add(good, 1)
    assert_scores(rolling, [good, good], [0, 1], 1e-14)


def test_the_rolling_mean_forgets_an_outlier_exactly():
    rolling, fresh = RollingMean(3), RollingMean(3)
    for number in (1e9, 0.1, 0.2, 0.3):
        rolling.add(number)
    for number in (0.1, 0.2, 0.3):
        fresh.add(number)
    assert rolling.mean() == fresh.mean() == pytest.approx(0.2)
