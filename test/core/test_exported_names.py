# SPDX-License-Identifier: Apache-2.0
"""The names of the library: a change of this list is a change of the contract."""

from __future__ import annotations

import inspect

import pytest

import calib_node.core

CALIBRATION = """
    CALIBRATORS Calibrator MulticlassCalibrator StateError UpdateNotFinite
    create create_multiclass default_parameters merge_states
"""
FITS = """
    IsotonicMap PlattMap TemperatureMap
    fit_binary_temperature fit_isotonic fit_platt fit_temperature fit_temperature_logits
    shift_prior shift_priors
"""
METRICS = """
    BrierDecomposition Reliability RollingReliability SlopeIntercept
    accuracy brier calibration_in_the_large classwise_ece debiased_l2 debiased_squared_l2 ece
    log_loss mce multiclass_brier multiclass_log_loss murphy reliability rms_calibration_error
    slope_intercept sweep_bins sweep_ece top_label top_label_ece top_label_mce
    bootstrap_interval brier_skill cutoff_calibration_error ece_noise smooth_ece
"""
PIPELINE = """
    HoldMatcher Label Match Pipeline Prediction Refused StampMatcher create_matcher forecasts
"""


def test_exported_names_are_these():
    expected = f'{CALIBRATION} {FITS} {METRICS} {PIPELINE}'.split()
    assert sorted(calib_node.core.__all__) == sorted(expected)
    assert len(set(expected)) == len(expected)


@pytest.mark.parametrize('name', calib_node.core.__all__)
def test_exported_name_is_there_and_documented(name):
    found = getattr(calib_node.core, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert inspect.getdoc(found)
