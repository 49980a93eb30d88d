# SPDX-License-Identifier: Apache-2.0
"""Which bin a sample is in: edges, ties, and no dependence on the order of the samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.metrics import ece, murphy, reliability, sweep_bins, sweep_ece
from calib_node.core.metrics.binning import (
    equal_mass_edges,
    equal_width_index,
    put_into_bins,
    whole_ties,
)

BELOW_1 = math.nextafter(1, 0)
BELOW_TENTH, ABOVE_TENTH = math.nextafter(0.1, 0), math.nextafter(0.1, 1)

# Few distinct values, so that most probabilities are tied.
tied = st.lists(
    st.tuples(st.sampled_from([0.0, 0.2, 0.3, 0.7, 1.0]), st.integers(0, 1)),
    min_size=1,
    max_size=25,
)


def bin_of(p: float, **options) -> int:
    (index,) = np.flatnonzero(reliability([p], [1], **options).count)
    return int(index)


@pytest.mark.parametrize(
    ('p', 'left', 'right'),
    [
        (0.0, 0, 0),
        (BELOW_TENTH, 0, 0),
        (0.1, 1, 0),
        (ABOVE_TENTH, 1, 1),
        (0.5, 5, 4),
        (0.95, 9, 9),
        (BELOW_1, 9, 9),
        (1.0, 9, 9),
    ],
)
def test_a_bin_is_closed_on_one_side(p, left, right):
    assert bin_of(p, bins=10) == bin_of(p, bins=10, closed='left') == left
    assert bin_of(p, bins=10, closed='right') == right


def test_left_closed_bin_is_that_of_the_product_in_floats():
    """0.3 * 10 and 0.6 * 10 are exact though 0.3 and 0.6 are not; 0.29 * 100 is below 29."""
    assert [bin_of(p, bins=10) for p in (0.3, 0.6)] == [3, 6]
    assert bin_of(0.29, bins=100) == 28


@pytest.mark.parametrize('bins', [1, 2, 3, 10, 15, 49])
def test_edges_are_those_of_the_definitions(bins):
    """At each edge and the doubles next to it."""
    edges = np.arange(bins + 1) / bins
    p = np.clip(np.concatenate([np.nextafter(edges, -1), edges, np.nextafter(edges, 2)]), 0, 1)
    left, right = equal_width_index(p, bins, 'left'), equal_width_index(p, bins, 'right')
    assert left.tolist() == [min(int(q * bins), bins - 1) for q in p.tolist()]
    above = [sum(q > i / bins for i in range(1, bins + 1)) for q in p.tolist()]
    assert right.tolist() == [min(n, bins - 1) for n in above]


def test_diagram_of_an_example_by_hand():
    diagram = reliability([0.1, 0.3, 0.9, 0.7], [0, 1, 1, 1], bins=2)
    np.testing.assert_allclose(diagram.mean, [0.2, 0.8])
    np.testing.assert_allclose(diagram.frequency, [0.5, 1.0])
    np.testing.assert_allclose(diagram.gap, [0.3, 0.2])
    np.testing.assert_allclose(diagram.weight, [0.5, 0.5])


@pytest.mark.parametrize('binning', ['equal_width', 'equal_mass'])
def test_empty_bins_have_no_mean(binning):
    diagram = reliability([0.1], [1], bins=3, binning=binning)
    assert diagram.count.tolist() == [1, 0, 0]
    assert np.isnan(diagram.mean).tolist() == [False, True, True]
    assert np.isnan(diagram.frequency).tolist() == [False, True, True]
    assert diagram.gap[1:].tolist() == [0.0, 0.0]


@given(st.integers(1, 200), st.integers(1, 50))
def test_equal_mass_bins_are_near_equal(samples, bins):
    edges = equal_mass_edges(samples, bins)
    expected = [len(part) for part in np.array_split(np.arange(samples), bins)]
    assert np.diff(edges).tolist() == expected
    assert (edges[0], edges[-1]) == (0, samples)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=25, unique=True),
    st.data(),
    st.integers(1, 9),
)
def test_equal_mass_bins_without_ties_are_parts_of_the_sorted_samples(p, data, bins):
    y = data.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p)))
    pairs = sorted(zip(p, y))
    diagram = reliability(p, y, bins, binning='equal_mass')
    for index, part in enumerate(np.array_split(np.arange(len(p)), bins)):
        if part.size:
            assert diagram.mean[index] == pytest.approx(np.mean([pairs[i][0] for i in part]))
            assert diagram.frequency[index] == pytest.approx(np.mean([pairs[i][1] for i in part]))


@given(tied, st.integers(1, 12), st.randoms(use_true_random=False))
def test_order_of_the_samples_is_of_no_account(pairs, bins, random):
    """To the last bit for equal-mass bins, which ties would let depend on it."""
    shuffled = random.sample(pairs, len(pairs))
    (p, y), (q, z) = zip(*pairs), zip(*shuffled)
    for one, other in zip(
        vars(reliability(p, y, bins, binning='equal_mass')).values(),
        vars(reliability(q, z, bins, binning='equal_mass')).values(),
    ):
        np.testing.assert_array_equal(one, other)
    assert sweep_bins(p, y) == sweep_bins(q, z)
    assert sweep_ece(p, y) == sweep_ece(q, z)
    assert murphy(p, y, bins, binning='equal_mass') == murphy(q, z, bins, binning='equal_mass')
    assert ece(p, y, bins) == pytest.approx(ece(q, z, bins), abs=1e-15)


def nearest_end(place: int, p: list[float]) -> int:
    """Return the end of the tie at a cut that is nearer to it, the upper one of two."""
    if place in (0, len(p)):
        return place
    first = p.index(p[place])
    last = first + p.count(p[place])
    return first if place - first < last - place else last


@given(tied)
def test_a_cut_moves_to_the_nearer_end_of_a_tie(pairs):
    p = sorted(q for q, _ in pairs)
    expected = [nearest_end(i, p) if p[i - 1 : i] == p[i : i + 1] else i for i in range(len(p) + 1)]
    assert whole_ties(np.array(p)).tolist() == expected


@given(tied, st.integers(1, 30))
def test_a_tie_lies_whole_in_the_bin_of_its_middle(pairs, bins):
    samples = put_into_bins(*zip(*pairs), bins, 'equal_mass')
    nominal = np.repeat(np.arange(bins), np.diff(equal_mass_edges(len(pairs), bins)))
    for value in np.unique(samples.p):
        places = np.flatnonzero(samples.p == value)
        middle = places[(len(places) - 1) // 2]
        assert set(samples.index[places]) == {nominal[middle]}


def test_a_constant_forecast_is_one_bin_and_its_error_the_one_gap():
    p, y = [0.5] * 45, [0, 1] * 22 + [1]
    assert reliability(p, y, 15, binning='equal_mass').count.tolist() == [0] * 7 + [45] + [0] * 7
    assert ece(p, y, binning='equal_mass') == pytest.approx(1 / 90, abs=1e-15)
    assert sweep_ece(p, y) == pytest.approx(1 / 90, abs=1e-15)
    p, y = [0.7] * 1000, [1] * 700 + [0] * 300
    assert ece(p, y, bins=15, binning='equal_mass') == pytest.approx(0.0, abs=1e-12)
    assert sweep_ece(p, y) == pytest.approx(0.0, abs=1e-12)


def test_two_values_are_two_bins_however_many_are_asked_for():
    p, y = [0.2] * 30 + [0.8] * 70, [0, 0, 1] * 10 + [0] * 35 + [1] * 35
    for bins in (3, 10, 100, 1000):
        diagram = reliability(p, y, bins, binning='equal_mass')
        assert diagram.count[diagram.count > 0].tolist() == [30, 70]
        assert ece(p, y, bins, binning='equal_mass') == pytest.approx(0.3 * 2 / 15 + 0.7 * 0.3)


def test_binned_samples_are_the_samples():
    samples = put_into_bins([0.9, 0.2, 0.2, 0.4], [1, 1, 0, 0], 3, 'equal_mass')
    assert samples.p.tolist() == [0.2, 0.2, 0.4, 0.9]
    assert samples.y.tolist() == [0, 1, 0, 1]
    assert samples.index.tolist() == [0, 0, 1, 2]
    samples = put_into_bins([0.9, 0.2, 0.2, 0.2], [1, 1, 0, 0], 2, 'equal_mass')
    assert samples.index.tolist() == [0, 0, 0, 1]
