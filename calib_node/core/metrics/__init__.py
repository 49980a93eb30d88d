# SPDX-License-Identifier: Apache-2.0
"""Calibration metrics, on whole arrays and over a rolling window."""

from calib_node.core.metrics.binning import Reliability, reliability
from calib_node.core.metrics.calibration_error import (
    debiased_l2,
    debiased_squared_l2,
    ece,
    mce,
    rms_calibration_error,
    sweep_bins,
    sweep_ece,
)
from calib_node.core.metrics.checks import check_classes, check_samples
from calib_node.core.metrics.decomposition import BrierDecomposition, murphy
from calib_node.core.metrics.intervals import bootstrap_interval, brier_skill
from calib_node.core.metrics.multiclass import (
    classwise_ece,
    multiclass_brier,
    multiclass_log_loss,
    top_label,
    top_label_ece,
    top_label_mce,
)
from calib_node.core.metrics.regression import (
    LOGIT_CLIP,
    SlopeIntercept,
    calibration_in_the_large,
    slope_intercept,
)
from calib_node.core.metrics.rolling import RollingReliability
from calib_node.core.metrics.scores import LOG_LOSS_CLIP, accuracy, brier, log_loss
from calib_node.core.metrics.smooth import cutoff_calibration_error, ece_noise, smooth_ece

__all__ = [
    'LOGIT_CLIP',
    'LOG_LOSS_CLIP',
    'BrierDecomposition',
    'Reliability',
    'RollingReliability',
    'SlopeIntercept',
    'accuracy',
    'bootstrap_interval',
    'brier',
    'brier_skill',
    'calibration_in_the_large',
    'check_classes',
    'check_samples',
    'classwise_ece',
    'cutoff_calibration_error',
    'debiased_l2',
    'debiased_squared_l2',
    'ece',
    'ece_noise',
    'log_loss',
    'mce',
    'multiclass_brier',
    'multiclass_log_loss',
    'murphy',
    'reliability',
    'rms_calibration_error',
    'slope_intercept',
    'smooth_ece',
    'sweep_bins',
    'sweep_ece',
    'top_label',
    'top_label_ece',
    'top_label_mce',
]
