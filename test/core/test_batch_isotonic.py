# SPDX-License-Identifier: Apache-2.0
"""Isotonic regression of a whole set of samples."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calib_node.core.calibrators.fits import IsotonicMap, fit_isotonic

probabilities = st.floats(0.0, 1.0) | st.sampled_from(
    [0.0, 5e-324, 0.2, 0.5, math.nextafter(0.5, 1), math.nextafter(0.5, 0), 1.0]
)
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), min_size=1, max_size=30)


def brute_force(data):
    """Return the isotonic fit by p from its max-min formula, in fractions."""
    groups = sorted({p for p, _ in data})
    count = [sum(1 for q, _ in data if q == p) for p in groups]
    total = [sum(y for q, y in data if q == p) for p in groups]

    def mean(first, last):
        return Fraction(sum(total[first : last + 1]), sum(count[first : last + 1]))

    size = range(len(groups))
    return {
        groups[i]: max(min(mean(a, b) for b in size if b >= i) for a in size if a <= i)
        for i in size
    }


@given(samples)
def test_fit_is_that_of_the_max_min_formula(data):
    fitted = fit_isotonic(*zip(*data), smooth=False)
    for p, value in brute_force(data).items():
        assert fitted.predict(p) == float(value)


@given(samples, probabilities, probabilities, st.booleans(), st.booleans())
def test_larger_p_never_maps_lower(data, p, other, smooth, interpolate):
    fitted = fit_isotonic(*zip(*data), smooth=smooth, interpolate=interpolate)
    low, high = sorted((p, other))
    assert fitted.predict(low) <= fitted.predict(high)


@pytest.mark.parametrize('interpolate', [False, True])
def test_neighbouring_floats_keep_their_order(interpolate):
    generator = np.random.default_rng(0)
    p = generator.random(300)
    fitted = fit_isotonic(p, generator.random(300) < p, interpolate=interpolate)
    for start in (*fitted.knots, 0.4):
        q, previous = start - 1e-13, 0.0
        for _ in range(2000):
            value = fitted.predict(q)
            assert value >= previous
            q, previous = math.nextafter(q, 2.0), value


@given(samples)
@example([(0.1, 0), (0.2, 1), (0.2, 0), (0.2, 0), (0.2, 0), (0.2, 0), (0.2, 0)])
def test_smoothed_value_is_that_of_its_block(data):
    fitted = fit_isotonic(*zip(*data))
    raw = brute_force(data)
    blocks = {}
    for p, y in data:
        blocks.setdefault(fitted.predict(p), []).append((p, y))
    for value, block in blocks.items():
        positives = sum(y for _, y in block)
        assert value == pytest.approx((positives + 0.5) / (len(block) + 1), abs=1e-15)
        assert 0.0 < value < 1.0
    # A block of the plain fit stays in one block; it is pooled only where smoothing demands it.
    for value in set(raw.values()):
        assert len({fitted.predict(p) for p in raw if raw[p] == value}) == 1
    by_value = {v: [y for p, y in data if raw[p] == v] for v in sorted(set(raw.values()))}
    plain = [Fraction(2 * sum(ys) + 1, 2 * len(ys) + 2) for ys in by_value.values()]
    if all(a < b for a, b in pairwise(plain)):
        assert sorted(blocks) == [float(v) for v in plain]


def test_blocks_that_smoothing_puts_out_of_order_are_pooled():
    p, y = [0.1] + [0.2] * 10 + [0.9] * 3, [0] + [1] + [0] * 9 + [1] * 3
    assert fit_isotonic(p, y, smooth=False).values == (0.0, 0.1, 1.0)
    assert fit_isotonic(p, y).values == (1.5 / 12, 3.5 / 4)


def test_steps_lie_half_way_between_blocks():
    fitted = fit_isotonic([0.1, 0.2, 0.6, 0.7], [0, 0, 1, 1], smooth=False)
    assert fitted == IsotonicMap((0.4,), (0.0, 1.0))
    assert [fitted.predict(p) for p in (0.0, 0.3999, 0.4, 1.0)] == [0.0, 0.0, 1.0, 1.0]


def test_lines_run_through_the_mean_p_of_the_blocks():
    fitted = fit_isotonic([0.1, 0.1, 0.4, 0.8, 0.9], [0, 0, 0, 1, 1], False, True)
    np.testing.assert_allclose(fitted.knots, [0.2, 0.85], rtol=1e-15)
    grid = np.linspace(0, 1, 101)
    expected = np.interp(grid, [0.2, 0.85], [0.0, 1.0])
    np.testing.assert_allclose(fitted.transform(grid), expected, rtol=0, atol=1e-15)


@given(samples, st.lists(probabilities, min_size=1), st.booleans(), st.booleans())
def test_array_and_scalar_agree_to_the_last_bit(data, p, smooth, interpolate):
    fitted = fit_isotonic(*zip(*data), smooth, interpolate)
    assert fitted.transform(p).tolist() == [fitted.predict(x) for x in p]


@given(samples, st.randoms(use_true_random=False), st.booleans())
def test_order_of_the_samples_is_of_no_matter(data, random, interpolate):
    shuffled = data[:]
    random.shuffle(shuffled)
    assert fit_isotonic(*zip(*data), interpolate=interpolate) == fit_isotonic(
        *zip(*shuffled), interpolate=interpolate
    )


@pytest.mark.parametrize('interpolate', [False, True])
def test_one_block_is_a_constant(interpolate):
    fitted = fit_isotonic([0.3, 0.3, 0.9], [1, 1, 1], interpolate=interpolate)
    assert fitted.transform([0.0, 0.3, 1.0]).tolist() == [0.875] * 3
    assert fitted.predict(0.0) == fitted.predict(1.0) == 0.875


def test_a_model_that_is_always_sure_and_always_wrong():
    assert fit_isotonic([1.0] * 100_000, [0] * 100_000).predict(1.0) == 0.5 / 100_001


@pytest.mark.parametrize(
    ('p', 'y', 'sentence'),
    [
        ([], [], 'no samples to fit to'),
        ([0.1, 0.2], [1], 'of equal length'),
        ([0.1, -0.1], [0, 1], 'every probability'),
        ([0.1, 0.2], [0, 0.5], 'every label must be 0 or 1'),
    ],
)
def test_wrong_use_gets_a_sentence(p, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit_isotonic(p, y)


def test_map_refuses_what_is_no_probability():
    fitted = fit_isotonic([0.1, 0.9], [0, 1])
    for p in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
            fitted.predict(p)
        with pytest.raises(ValueError, match=r'every probability must be within \[0, 1\]'):
            fitted.transform([0.5, p])
