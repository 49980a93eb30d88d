# SPDX-License-Identifier: Apache-2.0
"""Scores of whole arrays, and of a rolling window against them."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.metrics import (
    RollingReliability,
    accuracy,
    brier,
    ece,
    log_loss,
    reliability,
)

SCORES = (accuracy, brier, ece, log_loss, reliability)


@pytest.mark.parametrize('name', ['A', 'B'], ids=['no ties', 'all ties'])
def test_reference_values(name, shared_data):
    reference = json.loads(shared_data('ece_reference.json').read_text())
    p, y = (reference['input'][name][key] for key in 'py')
    expected = reference['ours'][name]
    assert reliability(p, y, bins=10).count.tolist() == expected['floor_p_m']['counts']
    assert reliability(p, y, bins=10).gap.max() == pytest.approx(
        expected['floor_p_m']['mce'], abs=1e-9
    )
    assert ece(p, y, bins=10) == pytest.approx(expected['floor_p_m']['ece'], abs=1e-9)
    assert brier(p, y) == pytest.approx(expected['brier'], abs=1e-9)
    assert log_loss(p, y) == pytest.approx(expected['logloss_clip1e-3'], abs=1e-9)
    assert log_loss(p, y, clip=1e-15) == pytest.approx(expected['logloss_clip1e-15'], abs=1e-9)


def test_scores_of_an_example_by_hand():
    p, y = [0.1, 0.3, 0.9, 0.7], [0, 1, 1, 0]
    diagram = reliability(p, y, bins=2)
    np.testing.assert_allclose(diagram.mean, [0.2, 0.8])
    np.testing.assert_allclose(diagram.frequency, [0.5, 0.5])
    np.testing.assert_allclose(diagram.gap, [0.3, 0.3])
    assert ece(p, y, bins=2) == pytest.approx(0.3)
    assert brier(p, y) == pytest.approx((0.01 + 0.49 + 0.01 + 0.49) / 4)
    assert log_loss(p, y) == pytest.approx(-math.log(0.9 * 0.3 * 0.9 * 0.3) / 4)
    assert accuracy(p, y) == 0.5


def test_log_loss_is_clipped():
    assert log_loss([1.0, 0.0], [0, 1]) == pytest.approx(-math.log(0.001))
    assert log_loss([1.0, 0.0], [1, 0]) == pytest.approx(-math.log(0.999))


def test_one_half_counts_as_negative():
    assert accuracy([0.5, math.nextafter(0.5, 1)], [0, 1]) == 1.0


@pytest.mark.parametrize(
    ('p', 'index'),
    [(0.0, 0), (0.1, 1), (math.nextafter(0.1, 0), 0), (0.95, 9), (math.nextafter(1, 0), 9), (1, 9)],
)
def test_bins_are_left_closed_and_the_last_holds_1(p, index):
    rolling = RollingReliability(bins=10)
    rolling.add(p, 1)
    assert np.flatnonzero(reliability([p], [1], bins=10).count).tolist() == [index]
    assert [n for n, _, _ in rolling.table()].index(1) == index


def test_bin_is_that_of_the_product_in_floats():
    """0.3 * 10 and 0.6 * 10 are exact though 0.3 and 0.6 are not; 0.29 * 100 is below 29."""
    assert np.flatnonzero(reliability([0.3, 0.6], [1, 1], bins=10).count).tolist() == [3, 6]
    assert np.flatnonzero(reliability([0.29], [1], bins=100).count).tolist() == [28]


def test_empty_bins_have_no_mean():
    diagram = reliability([0.1], [1], bins=3)
    assert np.isnan(diagram.mean).tolist() == [False, True, True]
    assert np.isnan(diagram.frequency).tolist() == [False, True, True]
    assert diagram.gap[1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize('score', SCORES)
@pytest.mark.parametrize(
    ('p', 'y', 'sentence'),
    [
        ([], [], 'no samples'),
        ([0.5], [0, 1], 'equal length'),
        ([[0.5]], [[1]], 'one-dimensional'),
        ([1.1], [1], r'within \[0, 1\]'),
        ([-1e-9], [1], r'within \[0, 1\]'),
        ([math.nan], [1], r'within \[0, 1\]'),
        ([0.5], [2], '0 or 1'),
        ([0.5], [0.5], '0 or 1'),
        ([0.5], [math.nan], '0 or 1'),
    ],
)
def test_bad_samples_are_refused_with_a_sentence(score, p, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        score(p, y)


@pytest.mark.parametrize(('bins', 'window'), [(0, 10), (10, 0), (-1, 10)])
def test_window_of_no_size_is_refused(bins, window):
    with pytest.raises(ValueError, match='bins and window must be at least 1'):
        RollingReliability(bins, window)


@pytest.mark.parametrize('bins', [0, -1])
@pytest.mark.parametrize('score', [ece, reliability])
def test_no_bins_are_refused_with_a_sentence(score, bins):
    with pytest.raises(ValueError, match='bins must be at least 1'):
        score([0.5], [1], bins)


@pytest.mark.parametrize('figure', ['ece', 'brier', 'log_loss'])
def test_empty_window_has_no_figures(figure):
    rolling = RollingReliability()
    with pytest.raises(ValueError, match='the window is empty'):
        getattr(rolling, figure)()
    rolling.add(0.5, 1)
    getattr(rolling, figure)()
    rolling.clear()
    with pytest.raises(ValueError, match='the window is empty'):
        getattr(rolling, figure)()


def assert_same(rolling: RollingReliability, p, y, tolerance: float) -> None:
    """Compare a window with the scores of the whole arrays."""
    assert rolling.count == len(p)
    assert rolling.ece() == pytest.approx(ece(p, y, rolling.bins), abs=tolerance)
    assert rolling.brier() == pytest.approx(brier(p, y), abs=tolerance)
    assert rolling.log_loss() == pytest.approx(log_loss(p, y), abs=tolerance)
    diagram = reliability(p, y, rolling.bins)
    counts, means, frequencies = np.array(rolling.table()).T
    np.testing.assert_array_equal(counts, diagram.count)
    np.testing.assert_allclose(means, diagram.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(frequencies, diagram.frequency, rtol=0, atol=tolerance)


samples = st.tuples(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1))


@given(st.lists(samples, min_size=1, max_size=60), st.integers(1, 40), st.integers(1, 20))
def test_rolling_is_the_score_of_the_last_samples(stream, bins, window):
    rolling = RollingReliability(bins, window)
    for p, y in stream:
        rolling.add(p, y)
    p, y = zip(*stream[-window:])
    assert_same(rolling, p, y, 1e-14)


def test_rolling_does_not_drift_over_a_million_samples():
    generator = random.Random(5)
    p = [generator.random() ** 3 for _ in range(1_000_000)]
    y = [int(generator.random() < value) for value in p]
    rolling = RollingReliability(bins=15, window=1000)
    for number, (value, label) in enumerate(zip(p, y), start=1):
        rolling.add(value, label)
        if number % 20_000 == 0:
            assert_same(rolling, p[number - 1000 : number], y[number - 1000 : number], 1e-13)


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
