# SPDX-License-Identifier: Apache-2.0
"""The parts of the Brier score put together again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.metrics import brier, murphy, rms_calibration_error

probabilities = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0])
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), min_size=1, max_size=30)
options = st.fixed_dictionaries(
    {
        'bins': st.integers(1, 30),
        'binning': st.sampled_from(['equal_width', 'equal_mass']),
    }
)


def test_parts_of_an_example_by_hand():
    parts = murphy([0.1, 0.3, 0.6, 0.9], [0, 1, 1, 1], bins=2)
    assert parts.reliability == pytest.approx((0.3**2 + 0.25**2) / 2)
    assert parts.resolution == pytest.approx(0.25**2)
    assert parts.uncertainty == pytest.approx(0.75 * 0.25)
    assert parts.within_bin_variance == pytest.approx((2 * 0.1**2 + 2 * 0.15**2) / 4)
    assert parts.within_bin_covariance == pytest.approx((0.1 * 0.5 + 0.1 * 0.5) / 4)


@given(samples, options)
def test_parts_add_up_to_the_brier_score(pairs, given_options):
    p, y = zip(*pairs)
    parts = murphy(p, y, **given_options)
    assert parts.brier == pytest.approx(brier(p, y), abs=1e-12)
    assert min(parts.reliability, parts.resolution, parts.within_bin_variance) >= 0.0
    assert 0.0 <= parts.uncertainty <= 0.25
    rms = rms_calibration_error(p, y, **given_options)
    assert parts.reliability == pytest.approx(rms**2, abs=1e-12)


@given(samples)
def test_right_closed_bins_add_up_too(pairs):
    p, y = zip(*pairs)
    assert murphy(p, y, 10, closed='right').brier == pytest.approx(brier(p, y), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=1, max_size=30))
def test_murphys_three_parts_do_where_a_bin_has_one_probability(pairs):
    tenth, y = map(np.array, zip(*pairs))
    parts = murphy((tenth + 0.5) / 10, y, bins=10)
    assert parts.within_bin_variance == pytest.approx(0.0, abs=1e-15)
    assert parts.within_bin_covariance == pytest.approx(0.0, abs=1e-15)
    three = parts.reliability - parts.resolution + parts.uncertainty
    assert three == pytest.approx(brier((tenth + 0.5) / 10, y), abs=1e-12)


def test_a_forecast_of_the_base_rate_resolves_nothing():
    parts = murphy([0.3] * 10, [1] * 3 + [0] * 7)
    assert parts.reliability == pytest.approx(0.0, abs=1e-15)
    assert parts.resolution == pytest.approx(0.0, abs=1e-15)
    assert parts.uncertainty == pytest.approx(0.21)
