# SPDX-License-Identifier: Apache-2.0
"""ECE, MCE, RMS, debiased and sweep calibration errors: bounds, means, and a plain sweep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.metrics import (
    debiased_l2,
    debiased_squared_l2,
    ece,
    mce,
    reliability,
    rms_calibration_error,
    sweep_bins,
    sweep_ece,
)
from calib_node.core.metrics.binning import put_into_bins

EXACT = 1e-12

probabilities = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0])
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), min_size=1, max_size=30)
binnings = st.sampled_from(
    [
        {'binning': 'equal_width'},
        {'binning': 'equal_width', 'closed': 'right'},
        {'binning': 'equal_mass'},
    ]
)


def calibrated(generator: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    p = generator.random(size)
    return p, generator.random(size) < p


def test_errors_of_an_example_by_hand():
    p, y = [0.1, 0.3, 0.6, 0.9], [0, 1, 1, 1]
    assert ece(p, y, bins=2) == pytest.approx((0.3 + 0.25) / 2)
    assert mce(p, y, bins=2) == pytest.approx(0.3)
    assert rms_calibration_error(p, y, bins=2) == pytest.approx(math.sqrt((0.09 + 0.0625) / 2))
    assert debiased_squared_l2(p, y, bins=2) == pytest.approx((0.09 - 0.25 + 0.0625) / 2)
    assert debiased_l2(p, y, bins=2) == 0.0


def test_weights_are_shares_of_the_samples():
    p, y = [0.1, 0.2, 0.3, 0.9], [0, 0, 0, 0]
    assert ece(p, y, bins=2) == pytest.approx(0.75 * 0.2 + 0.25 * 0.9)
    assert mce(p, y, bins=2) == pytest.approx(0.9)
    assert rms_calibration_error(p, y, bins=2) ** 2 == pytest.approx(0.75 * 0.04 + 0.25 * 0.81)


def test_a_bin_of_one_sample_is_left_out_of_the_debiased_error_and_keeps_its_weight():
    assert debiased_squared_l2([0.1, 0.3, 0.9], [0, 0, 0], bins=2) == pytest.approx(0.04 * 2 / 3)
    assert debiased_squared_l2([0.1, 0.9], [1, 0], bins=2) == 0.0


@given(samples, st.integers(1, 30), binnings)
def test_errors_are_ordered_and_bounded(pairs, bins, options):
    p, y = zip(*pairs)
    l1, most = ece(p, y, bins, **options), mce(p, y, bins, **options)
    l2 = rms_calibration_error(p, y, bins, **options)
    assert 0.0 <= abs(np.mean(p) - np.mean(y)) <= l1 + EXACT
    assert l1 <= l2 + EXACT
    assert l2 <= most + EXACT
    assert most <= 1.0
    assert debiased_squared_l2(p, y, bins, **options) <= l2**2 + EXACT
    assert debiased_l2(p, y, bins, **options) == math.sqrt(
        max(0.0, debiased_squared_l2(p, y, bins, **options))
    )


@given(samples, st.integers(1, 30), binnings)
def test_errors_are_those_of_the_diagram(pairs, bins, options):
    p, y = zip(*pairs)
    diagram = reliability(p, y, bins, **options)
    assert diagram.count.sum() == len(p)
    used = [row for row in zip(diagram.count, diagram.mean, diagram.frequency) if row[0]]
    gaps = [abs(mean - frequency) for _, mean, frequency in used]
    shares = [count / len(p) for count, _, _ in used]
    assert ece(p, y, bins, **options) == pytest.approx(np.dot(shares, gaps), abs=EXACT)
    assert mce(p, y, bins, **options) == max(gaps)


@given(samples)
def test_one_bin_sees_the_overall_difference_alone(pairs):
    p, y = zip(*pairs)
    assert ece(p, y, bins=1) == pytest.approx(abs(np.mean(p) - np.mean(y)), abs=EXACT)
    assert ece(p, y, bins=1, binning='equal_mass') == pytest.approx(ece(p, y, bins=1), abs=EXACT)


@pytest.mark.parametrize('binning', ['equal_width', 'equal_mass'])
def test_certainty_that_is_right_is_without_error_and_else_all_error(binning):
    y = [0, 1, 1, 0, 1]
    for error in (ece, mce, rms_calibration_error):
        assert error(y, y, 3, binning=binning) == pytest.approx(0.0, abs=EXACT)
        assert error([0, 1], [1, 0], 2, binning=binning) == 1.0
    assert sweep_ece(y, y) == 0.0


@pytest.mark.parametrize('binning', ['equal_width', 'equal_mass'])
def test_debiased_error_of_calibrated_samples_is_0_in_the_mean(binning):
    generator = np.random.default_rng(7)
    plain, debiased = [], []
    for _ in range(600):
        p, y = calibrated(generator, 200)
        plain.append(rms_calibration_error(p, y, 10, binning=binning) ** 2)
        debiased.append(debiased_squared_l2(p, y, 10, binning=binning))
    standard_error = np.std(debiased) / math.sqrt(len(debiased))
    assert abs(np.mean(debiased)) < 3 * standard_error
    assert np.mean(plain) > 30 * standard_error


def test_errors_find_a_known_bias():
    """Said .1 too much throughout: all errors are near .1."""
    generator = np.random.default_rng(3)
    p, y = calibrated(generator, 100_000)
    keep = p < 0.9
    said, y = p[keep] + 0.1, y[keep]
    for binning in ('equal_width', 'equal_mass'):
        for error in (ece, rms_calibration_error, debiased_l2):
            assert error(said, y, binning=binning) == pytest.approx(0.1, abs=0.005)
    assert sweep_ece(said, y) == pytest.approx(0.1, abs=0.005)


def plain_sweep(p, y) -> int:
    """The sweep by its definition, one number of bins after the other."""
    last = 1
    for bins in range(2, len(p) + 1):
        samples = put_into_bins(p, y, bins, 'equal_mass')
        frequencies = [samples.y[samples.index == i].mean() for i in np.unique(samples.index)]
        if sorted(frequencies) != frequencies:
            break
        last = bins
    return last


@given(samples)
def test_sweep_is_that_of_its_definition(pairs):
    p, y = zip(*pairs)
    bins = sweep_bins(p, y)
    assert bins == plain_sweep(p, y)
    assert sweep_ece(p, y) == ece(p, y, bins, binning='equal_mass')


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 10), st.integers(0, 2**32 - 1))
def test_sweep_of_nearly_separable_classes(negatives, positives, overlap, seed):
    """Only the part between the first positive and the last negative can be out of order."""
    middle = np.random.default_rng(seed).integers(0, 2, overlap)
    y = [*[0] * negatives, *middle, *[1] * positives]
    p = np.linspace(0.0, 1.0, len(y))
    assert sweep_bins(p, y) == plain_sweep(p, y)


@pytest.mark.slow
@pytest.mark.parametrize('share', [0.0, 0.3, 1.0])
def test_sweep_of_many_separated_samples_takes_one_bin_a_sample(share):
    """At once: trying every number of bins would take hours."""
    p = np.linspace(0.0, 1.0, 500_000)
    assert sweep_bins(p, p >= 1.0 - share if share else p < 0) == len(p)


def test_sweep_takes_more_bins_of_more_samples():
    generator = np.random.default_rng(11)
    few, many = (sweep_bins(*calibrated(generator, size)) for size in (100, 100_000))
    assert 1 <= few < 12 < many


def test_falling_frequencies_leave_one_bin():
    assert sweep_bins([0.1, 0.9], [1, 0]) == 1
    assert sweep_ece([0.1, 0.9], [1, 0]) == 0.0
