# SPDX-License-Identifier: Apache-2.0
"""Calibration metrics, on whole arrays and over a rolling window."""

from calib_node.core.metrics.rolling import RollingReliability
from calib_node.core.metrics.scores import (
    LOG_LOSS_CLIP,
    Reliability,
    accuracy,
    brier,
    ece,
    log_loss,
    reliability,
)

__all__ = [
    'LOG_LOSS_CLIP',
    'Reliability',
    'RollingReliability',
    'accuracy',
    'brier',
    'ece',
    'log_loss',
    'reliability',
]
