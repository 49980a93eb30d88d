# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling that learns online, of K classes."""

from __future__ import annotations

from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.fits.temperature import softmax
from calib_node.core.calibrators.multiclass.base import Floats, MulticlassCalibrator
from calib_node.core.calibrators.temperature import TemperatureLearner
from calib_node.core.refusal import brief


class MulticlassTemperature(MulticlassCalibrator, TemperatureLearner):
    """Calibrates by ``softmax(z / T)``, z the logits or the logarithms of probabilities.

    The likeliest class stays the likeliest.

    Parameters
    ----------
    classes : int
        K, from 2 to 1000.
    gamma, rho, radius, forgetting : float
        As of `OnlineTemperature`.
    clip : float
        Probabilities below it are taken as it before the logarithm, of logits too. Less than
        ``1 / K``. Small, since how sure a network is shows in its smallest probabilities.

    References
    ----------
    Guo et al., *On calibration of modern neural networks*, ICML 2017, Section 4.2 (the map).

    Examples
    --------
    >>> calibrator = MulticlassTemperature(3)
    >>> calibrator.update([0.8, 0.1, 0.1], 1)
    >>> round(calibrator.temperature, 6)
    1.19314
    >>> calibrator.predict([0.8, 0.1, 0.1]).round(6).tolist()
    [0.740714, 0.129643, 0.129643]
    """

    name: ClassVar[str] = 'temperature'

    def __init__(
        self,
        classes: int,
        gamma: float = 0.1,
        rho: float = 100.0,
        radius: float = 100.0,
        clip: float = 1e-9,
        forgetting: float = 1.0,
    ) -> None:
        MulticlassCalibrator.__init__(self, classes)
        TemperatureLearner.__init__(
            self, gamma=gamma, rho=rho, radius=radius, clip=clip, forgetting=forgetting
        )

    def _set(self, values: dict[str, Any]) -> None:
        clip = values['clip']
        if clip >= 1.0 / self._classes:
            raise ValueError(f'clip of {self._classes} classes must be < 1 / {self._classes}')
        super()._set(values)
        self._floor = log(clip)

    def issue(self, p: ArrayLike) -> tuple[Floats, Floats]:
        """Return the calibrated probabilities of `p` and its ticket, their logarithms."""
        z = np.log(np.maximum(self._checked(p), self._low))
        return softmax(self._state[0], z), z

    def issue_logits(self, logits: ArrayLike) -> tuple[Floats, Floats]:
        """Return the calibrated probabilities of K logits, and the ticket.

        Returns
        -------
        q, ticket : ndarray of float, shape (K,)
            Probabilities that sum to 1, and the logarithms that they were made of.

        Raises
        ------
        ValueError
            If they are not K finite numbers.
        """
        z = self._log_probabilities(logits)
        return softmax(self._state[0], z), z

    def update(self, p: ArrayLike, label: int, ticket: Floats | None = None) -> None:
        """Learn from the outcome `label` of the forecast made of `p`."""
        array = self._checked(p)
        z = np.log(np.maximum(array, self._low)) if ticket is None else ticket
        self._learn_class(z, label)

    def update_logits(self, logits: ArrayLike, label: int, ticket: Floats | None = None) -> None:
        """Learn from the outcome `label` of the forecast made of `logits`.

        Raises
        ------
        ValueError
            If they are not K finite numbers or `label` is not a class index.
        """
        z = self._log_probabilities(logits)
        self._learn_class(z if ticket is None else ticket, label)

    def _learn_class(self, z: Floats, label: int) -> None:
        index = self._checked_label(label)
        self._learn(float((softmax(self._state[0], z) * (z - z[index])).sum()))

    def _log_probabilities(self, logits: ArrayLike) -> Floats:
        z = np.asarray(logits, dtype=np.float64)
        if z.shape != (self._classes,) or not np.isfinite(z).all():
            raise ValueError(f'{self._classes} finite logits are expected, not {brief(logits)}')
        z = z - z.max()
        floored: Floats = np.maximum(z - np.log(np.exp(z).sum()), self._floor)
        return floored
