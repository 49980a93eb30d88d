# SPDX-License-Identifier: Apache-2.0
"""Every estimator against reference values, and against other libraries where they agree."""

from __future__ import annotations

import numpy as np
import pytest
import references

from calib_node.core import metrics
from calib_node.core.metrics import (
    debiased_l2,
    debiased_squared_l2,
    ece,
    mce,
    reliability,
    rms_calibration_error,
)

RIGHT = {'bins': 10, 'closed': 'right'}
MASS = {'bins': 5, 'binning': 'equal_mass'}
INPUTS = pytest.mark.parametrize('name', ['A', 'B'], ids=['no ties', 'all ties'])


def same(value):
    return pytest.approx(value, abs=1e-9)


@pytest.fixture
def reference():
    return references.reference('calibration_errors')


@pytest.fixture
def of_binary(reference, name):
    p, y = (reference['input'][name][key] for key in 'py')
    return p, y, reference['ours'][name]


@pytest.fixture
def classes(reference):
    given = reference['input']['C']
    return given['P'], given['y']


@INPUTS
@pytest.mark.parametrize(
    ('block', 'closed'), [('floor_p_m', 'left'), ('left_closed', 'left'), ('right_closed', 'right')]
)
def test_equal_width_bins(of_binary, block, closed):
    p, y, ours = of_binary
    expected, options = ours[block], {'bins': 10, 'closed': closed}
    assert reliability(p, y, **options).count.tolist() == expected['counts']
    assert ece(p, y, **options) == same(expected['ece'])
    assert mce(p, y, **options) == same(expected['mce'])
    assert rms_calibration_error(p, y, **options) == same(expected['rms'])
    assert debiased_squared_l2(p, y, **options) == same(expected['l2sq_debiased'])
    parts, murphy = expected['murphy'], metrics.murphy(p, y, **options)
    assert murphy.reliability == same(parts['rel'])
    assert murphy.resolution == same(parts['res'])
    assert murphy.uncertainty == same(parts['unc'])
    assert murphy.within_bin_variance == same(parts['wbv'])
    assert murphy.within_bin_covariance == same(parts['wbc'])
    assert murphy.brier == same(parts['with_within'])


@pytest.mark.parametrize('name', ['A'])
def test_equal_mass_bins_and_sweep(of_binary):
    """Without ties; the values of the other input cut them."""
    p, y, ours = of_binary
    expected = ours['equal_mass_5']
    assert ece(p, y, **MASS) == same(expected['ece'])
    assert mce(p, y, **MASS) == same(expected['mce'])
    assert debiased_squared_l2(p, y, **MASS) == same(expected['l2sq_debiased'])
    bins = metrics.sweep_bins(p, y)
    assert bins == ours['sweep_bins']
    assert metrics.sweep_ece(p, y) == same(ours['sweep_l1'])
    rms = rms_calibration_error(p, y, bins, binning='equal_mass')
    assert rms == same(ours['sweep_l2'])


@INPUTS
def test_proper_scores(of_binary):
    p, y, ours = of_binary
    assert metrics.brier(p, y) == same(ours['brier'])
    assert metrics.log_loss(p, y) == same(ours['logloss_clip1e-3'])
    assert metrics.log_loss(p, y, clip=1e-15) == same(ours['logloss_clip1e-15'])


@pytest.mark.parametrize('name', ['A'])
def test_slope_and_intercept(of_binary):
    p, y, ours = of_binary
    expected = ours['vancalster']
    fit = metrics.slope_intercept(p, y)
    assert fit.slope == same(expected['slope'])
    assert fit.intercept == same(expected['intercept_joint'])
    in_the_large = metrics.calibration_in_the_large(p, y)
    assert in_the_large == same(expected['intercept_in_the_large'])


def test_several_classes(reference, classes):
    p, y = classes
    ours = reference['ours']['C']
    assert metrics.top_label_ece(p, y, bins=10) == same(ours['toplabel_ece10'])
    assert metrics.top_label_mce(p, y, bins=10) == same(ours['toplabel_mce10'])
    assert metrics.classwise_ece(p, y, bins=10) == same(ours['classwise_mean'])
    of_class = [ece(q, np.array(y) == k, bins=10) for k, q in enumerate(np.array(p).T)]
    assert of_class == same(ours['classwise_ece10'])
    assert max(of_class) == same(ours['tce_max'])
    assert metrics.multiclass_brier(p, y) == same(ours['brier_multi'])
    assert metrics.multiclass_log_loss(p, y) == same(ours['logloss'])


def test_other_libraries_without_ties(reference):
    """No probability is on an edge, so all conventions are the same."""
    p, y = (reference['input']['A'][key] for key in 'py')
    peers = reference['peers']['A']
    for name in ('torchmetrics_l1_f64', 'uc_get_ece', 'sklearn_curve_ece', 'netcal_ece10'):
        assert ece(p, y, 10) == same(peers[name])
    for name in ('torchmetrics_max_f64', 'netcal_mce10'):
        assert mce(p, y, 10) == same(peers[name])
    for name in ('torchmetrics_l2_f64', 'uc_plugin_l2_ew10'):
        assert rms_calibration_error(p, y, 10) == same(peers[name])
    for name in ('uc_get_ece_em5', 'netcal_ece_em5'):
        assert ece(p, y, **MASS) == same(peers[name])
    assert rms_calibration_error(p, y, **MASS) == same(peers['uc_plugin_l2_em5'])
    assert debiased_squared_l2(p, y, **MASS) == same(peers['uc_unbiased_square_em5'])
    assert debiased_squared_l2(p, y, 10) == same(peers['uc_unbiased_square_ew10'])
    assert debiased_l2(p, y, 10) == same(peers['uc_l2_debiased_ew10'])
    assert reliability(p, y, 10).count.tolist() == peers['uc_counts_ew10']
    assert reliability(p, y, **MASS).count.tolist() == peers['uc_counts_em5']
    assert metrics.brier(p, y) == same(peers['sklearn_brier'])
    assert metrics.log_loss(p, y) == same(peers['sklearn_logloss'])


def test_other_libraries_with_every_probability_on_an_edge(reference):
    """uncertainty-calibration is right-closed, MAPIE makes 9 bins of 10 edges.

    scikit-learn and netcal compare with the edges of linspace, of which 0.3 and 0.6 are not among
    the doubles nearest to them, and so have no value of ours. Of equal-mass bins netcal
    keeps ties together as we do.
    """
    p, y = (np.array(reference['input']['B'][key]) for key in 'py')
    peers = reference['peers']['B']
    assert ece(p, y, **RIGHT) == same(peers['uc_get_ece'])
    assert rms_calibration_error(p, y, **RIGHT) == same(peers['uc_plugin_l2_ew10'])
    assert debiased_squared_l2(p, y, **RIGHT) == same(peers['uc_unbiased_square_ew10'])
    assert debiased_l2(p, y, **RIGHT) == peers['uc_l2_debiased_ew10'] == 0.0
    assert reliability(p, y, **RIGHT).count.tolist() == peers['uc_counts_ew10']
    assert ece(p, y, 9) == same(peers['mapie_ece10']['uniform'])
    assert ece(p, y, **MASS) == same(peers['netcal_ece_em5'])
    assert metrics.brier(p, y) == same(peers['sklearn_brier'])
    epsilon = float(np.finfo(float).eps)
    assert metrics.log_loss(p, y, clip=epsilon) == same(peers['sklearn_logloss'])
    # torchmetrics has p = 1 in a bin of its own.
    certain = p == 1.0
    apart = ece(p[~certain], y[~certain], 10) * np.mean(~certain)
    apart += ece(p[certain], y[certain], 10) * np.mean(certain)
    assert apart == same(peers['torchmetrics_l1_f64'])


def test_other_libraries_with_several_classes(reference, classes):
    peers = reference['peers']['C']
    for name in ('uc_top_ece', 'netcal_ece10'):
        assert metrics.top_label_ece(*classes, 10) == same(peers[name])
    assert metrics.top_label_mce(*classes, 10) == same(peers['netcal_mce10'])
    assert metrics.classwise_ece(*classes, 10) == same(peers['uc_marginal_l1'])
    assert metrics.multiclass_log_loss(*classes) == same(peers['sk_logloss'])
    rms = rms_calibration_error(*metrics.top_label(*classes), 10)
    # torchmetrics counts in single precision here.
    assert rms == pytest.approx(peers['torchmetrics_l2'], abs=1e-6)
