# SPDX-License-Identifier: Apache-2.0
"""Online calibration without ROS: calibrators, metrics, matching, pipeline and state file.

What is exported here is the library; its names change only with a note in the changelog.

Examples
--------
>>> from calib_node.core import create, ece
>>> calibrator = create('ops')
>>> q, ticket = calibrator.issue(0.8)
>>> calibrator.update(0.8, 0, ticket)
>>> round(calibrator.predict(0.8), 6), round(ece([0.8, q], [0, 1]), 6)
(0.760758, 0.3)
"""

from calib_node.core.calibrators import (
    CALIBRATORS,
    Calibrator,
    MulticlassCalibrator,
    StateError,
    UpdateNotFinite,
    create,
    create_multiclass,
    default_parameters,
)
from calib_node.core.calibrators.fits import (
    IsotonicMap,
    PlattMap,
    TemperatureMap,
    fit_binary_temperature,
    fit_isotonic,
    fit_platt,
    fit_temperature,
    fit_temperature_logits,
)
from calib_node.core.calibrators.merge import merge_states
from calib_node.core.calibrators.prior_shift import shift_prior, shift_priors
from calib_node.core.evaluate import forecasts
from calib_node.core.matching import HoldMatcher, StampMatcher, create_matcher
from calib_node.core.metrics import (
    BrierDecomposition,
    Reliability,
    RollingReliability,
    SlopeIntercept,
    accuracy,
    bootstrap_interval,
    brier,
    brier_skill,
    calibration_in_the_large,
    classwise_ece,
    cutoff_calibration_error,
    debiased_l2,
    debiased_squared_l2,
    ece,
    ece_noise,
    log_loss,
    mce,
    multiclass_brier,
    multiclass_log_loss,
    murphy,
    reliability,
    rms_calibration_error,
    slope_intercept,
    smooth_ece,
    sweep_bins,
    sweep_ece,
    top_label,
    top_label_ece,
    top_label_mce,
)
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import Refused
from calib_node.core.samples import Label, Match, Prediction

__all__ = [
    'CALIBRATORS',
    'BrierDecomposition',
    'Calibrator',
    'HoldMatcher',
    'IsotonicMap',
    'Label',
    'Match',
    'MulticlassCalibrator',
    'Pipeline',
    'PlattMap',
    'Prediction',
    'Refused',
    'Reliability',
    'RollingReliability',
    'SlopeIntercept',
    'StampMatcher',
    'StateError',
    'TemperatureMap',
    'UpdateNotFinite',
    'accuracy',
    'bootstrap_interval',
    'brier',
    'brier_skill',
    'calibration_in_the_large',
    'classwise_ece',
    'create',
    'create_matcher',
    'create_multiclass',
    'cutoff_calibration_error',
    'debiased_l2',
    'debiased_squared_l2',
    'default_parameters',
    'ece',
    'ece_noise',
    'fit_binary_temperature',
    'fit_isotonic',
    'fit_platt',
    'fit_temperature',
    'fit_temperature_logits',
    'forecasts',
    'log_loss',
    'mce',
    'merge_states',
    'multiclass_brier',
    'multiclass_log_loss',
    'murphy',
    'reliability',
    'rms_calibration_error',
    'shift_prior',
    'shift_priors',
    'slope_intercept',
    'smooth_ece',
    'sweep_bins',
    'sweep_ece',
    'top_label',
    'top_label_ece',
    'top_label_mce',
]
