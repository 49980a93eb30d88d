# SPDX-License-Identifier: Apache-2.0
"""The logistic map of a clipped logit, and the log-loss of such maps."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.fits.checks import Floats, Integers
from calib_node.core.numerics.sigmoid import sigmoid, sigmoids
from calib_node.core.refusal import bad_probability


@dataclass(frozen=True)
class PlattMap:
    """The map ``sigmoid(a logit(p) + b)``, p clipped to ``[clip, 1 - clip]``.

    Attributes
    ----------
    a, b : float
        Slope and intercept on the logit. A temperature T is ``a = 1 / T``, ``b = 0``.
    clip : float
        Where p is clipped before the logit.

    Examples
    --------
    >>> round(PlattMap(2.0, 0.0).predict(0.8), 6)
    0.941176
    """

    a: float
    b: float
    clip: float = 0.01

    def predict(self, p: float) -> float:
        """Return the calibrated probability of one `p`.

        Raises
        ------
        ValueError
            If `p` is outside [0, 1].
        """
        if not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        p = min(max(p, self.clip), 1.0 - self.clip)
        return sigmoid(self.a * log(p / (1.0 - p)) + self.b)

    def transform(self, p: ArrayLike) -> Floats:
        """Return the calibrated probabilities of an array, of any shape.

        Raises
        ------
        ValueError
            If any `p` is outside [0, 1].
        """
        probabilities = np.asarray(p, dtype=np.float64)
        if not np.all((probabilities >= 0.0) & (probabilities <= 1.0)):
            raise ValueError('every probability must be within [0, 1]')
        return sigmoids(self.a * clipped_logit(probabilities, self.clip) + self.b)


def clipped_logit(p: Floats, clip: float) -> Floats:
    """Return the logit of probabilities clipped to ``[clip, 1 - clip]``."""
    clipped = np.minimum(np.maximum(p, clip), 1.0 - clip)
    result: Floats = np.log(clipped / (1.0 - clipped))
    return result


def smoothed_targets(y: Integers) -> Floats:
    """Return ``(N+ + 1) / (N+ + 2)`` for a label of 1 and ``1 / (N- + 2)`` for a label of 0.

    With them no finite set of samples makes a map certain. From Platt, *Probabilistic outputs
    for support vector machines*, 1999.
    """
    positives = int(y.sum())
    negatives = y.size - positives
    high, low = (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0)
    result: Floats = np.where(y == 1, high, low)
    return result


def log_loss(z: Floats, targets: Floats) -> tuple[float, Floats, Floats]:
    """Return the summed log-loss of ``sigmoid(z)``, its gradient in z and its curvature in z.

    Parameters
    ----------
    z : ndarray of float, shape (n,)
        Logits of the forecasts.
    targets : ndarray of float, shape (n,)
        Probabilities to be forecast, or labels.

    Examples
    --------
    >>> loss, gradient, curvature = log_loss(np.array([0.0, 1000.0]), np.array([1.0, 1.0]))
    >>> round(loss, 6), gradient.tolist(), curvature.tolist()
    (0.693147, [-0.5, 0.0], [0.25, 0.0])
    """
    small = np.exp(-np.abs(z))
    larger = 1.0 / (1.0 + small)
    smaller = small * larger
    loss = float((np.maximum(z, 0.0) - np.log(larger) - targets * z).sum())
    gradient: Floats = np.where(z > 0.0, larger, smaller) - targets
    return loss, gradient, smaller * larger
