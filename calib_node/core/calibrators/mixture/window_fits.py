# SPDX-License-Identifier: Apache-2.0
"""Three maps that are fitted to one window of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calib_node.core.calibrators.fits import (
    IsotonicMap,
    PlattMap,
    fit_binary_temperature,
)
from calib_node.core.calibrators.fits.checks import Floats, Integers
from calib_node.core.calibrators.fits.isotonic import isotonic_blocks
from calib_node.core.calibrators.windowed import Windowed


@dataclass(frozen=True)
class Fits:
    """What was fitted to the window."""

    steps: IsotonicMap
    lines: IsotonicMap
    temperature: PlattMap

    def predict(self, p: float) -> float:
        """Return what the isotonic steps give."""
        return self.steps.predict(p)


class WindowFits(Windowed):
    """Isotonic steps, the same with straight lines, and a temperature, of the last samples.

    As `WindowedIsotonic` and `WindowedTemperature`, but the samples are kept once.
    """

    name: ClassVar[str] = 'window_fits'

    def __init__(self) -> None:
        super().__init__(window=1000, refit_every=50, clip=0.01)

    def _fit(self, p: Floats, y: Integers) -> Fits:
        blocks = isotonic_blocks(p, y, smooth=True)
        return Fits(
            blocks.steps(),
            blocks.lines(),
            fit_binary_temperature(p, y, self._parameters['clip'], smooth=True),
        )

    def forecasts(self, p: float) -> tuple[float, float, float]:
        """Return what the three maps give, `p` itself before the first fit."""
        fits = self._map
        if not isinstance(fits, Fits):
            return p, p, p
        return fits.steps.predict(p), fits.lines.predict(p), fits.temperature.predict(p)
