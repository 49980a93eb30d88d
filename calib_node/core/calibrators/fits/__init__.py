# SPDX-License-Identifier: Apache-2.0
"""Maps fitted to a whole set of samples at once."""

from calib_node.core.calibrators.fits.isotonic import IsotonicMap, fit_isotonic
from calib_node.core.calibrators.fits.platt import PlattMap, fit_platt
from calib_node.core.calibrators.fits.temperature import (
    TemperatureMap,
    fit_binary_temperature,
    fit_temperature,
    fit_temperature_logits,
)

__all__ = [
    'IsotonicMap',
    'PlattMap',
    'TemperatureMap',
    'fit_binary_temperature',
    'fit_isotonic',
    'fit_platt',
    'fit_temperature',
    'fit_temperature_logits',
]
