# SPDX-License-Identifier: Apache-2.0
"""Platt scaling of a whole set of samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, log

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.fits.checks import (
    Floats,
    Integers,
    check_clip,
    check_outcomes,
    check_probabilities,
)
from calib_node.core.numerics.logistic import fit_intercept, fit_line
from calib_node.core.numerics.sigmoid import clipped_logit, sigmoid, sigmoids
from calib_node.core.refusal import bad_probability

SLOPE_LIMIT = 100.0
"""Largest absolute slope of a fitted map. Probabilities that differ by rounding alone, and labels
that happen to follow the rounding, would else give a step in place of a map."""


@dataclass(frozen=True)
class PlattMap:
    """The map ``sigmoid(a logit(p) + b)``, p clipped to ``[clip, 1 - clip]``.

    Attributes
    ----------
    a, b : float
        Slope and intercept on the logit. A temperature T is ``a = 1 / T``, ``b = 0``.
    clip : float
        Where p is clipped before the logit, from 1e-9 to below 0.5.

    Raises
    ------
    ValueError
        If `clip` is out of range.

    Examples
    --------
    >>> round(PlattMap(2.0, 0.0).predict(0.8), 6)
    0.941176
    """

    a: float
    b: float
    clip: float = 0.01

    def __post_init__(self) -> None:
        check_clip(self.clip)

    def predict(self, p: float) -> float:
        """Return the calibrated probability of one `p`.

        Returns
        -------
        float
            Within [0, 1].

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

        Returns
        -------
        ndarray of float, shape of `p`
            Within [0, 1].

        Raises
        ------
        ValueError
            If any `p` is outside [0, 1].
        """
        return sigmoids(self.a * clipped_logit(check_probabilities(p), self.clip) + self.b)


def smoothed_targets(y: Integers) -> Floats:
    """Return ``(N+ + 1) / (N+ + 2)`` for a label of 1 and ``1 / (N- + 2)`` for a label of 0.

    With them no finite set of samples makes a map certain. From Platt, *Probabilistic outputs
    for support vector machines*, 1999.

    Returns
    -------
    ndarray of float, shape (n,)
        Probabilities within (0, 1).
    """
    positives = int(y.sum())
    negatives = y.size - positives
    high, low = (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0)
    result: Floats = np.where(y == 1, high, low)
    return result


def fit_platt(p: ArrayLike, y: ArrayLike, clip: float = 0.01) -> PlattMap:
    """Fit ``sigmoid(a logit(p) + b)`` by the log-loss against smoothed targets.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities of the positive class.
    y : array_like of int, shape (n,)
        Labels, 0 or 1.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit; from 1e-9 to below 0.5.

    Returns
    -------
    PlattMap
        The map of smallest loss with ``|a| <= SLOPE_LIMIT``. Where all p are equal it is constant.

    Raises
    ------
    ValueError
        If `p` and `y` are empty, of unequal length, or out of range, or `clip` is.

    References
    ----------
    Platt, *Probabilistic outputs for support vector machines*, 1999 (the targets).

    Examples
    --------
    >>> fitted = fit_platt([0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [1, 1, 0, 0, 0, 1])
    >>> [round(fitted.predict(p), 6) for p in (0.1, 0.5, 0.9)]
    [0.4, 0.5, 0.6]
    """
    probabilities, labels = check_outcomes(p, y)
    clip = check_clip(clip)
    logits, targets = clipped_logit(probabilities, clip), smoothed_targets(labels)
    slope, intercept, _ = fit_line(logits, targets)
    if abs(slope) > SLOPE_LIMIT:
        # The loss is convex, so the best line within the limit has its slope on the limit.
        slope = copysign(SLOPE_LIMIT, slope)
        intercept = fit_intercept(slope * logits, targets)
    return PlattMap(slope, intercept, clip)
