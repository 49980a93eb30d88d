# SPDX-License-Identifier: Apache-2.0
"""Platt scaling of a whole set of samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.fits.checks import Floats, check_outcomes
from calib_node.core.calibrators.fits.logistic import (
    PlattMap,
    clipped_logit,
    log_loss,
    smoothed_targets,
)

SLOPE_LIMIT = 100.0
"""Largest absolute slope of a fitted map. Probabilities that differ by rounding alone, and labels
that happen to follow the rounding, would else give a step in place of a map."""

Line = tuple[float, float]


def fit_platt(p: ArrayLike, y: ArrayLike, clip: float = 0.01) -> PlattMap:
    """Fit ``sigmoid(a logit(p) + b)`` by the log-loss against smoothed targets.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities of the positive class.
    y : array_like of int, shape (n,)
        Labels, 0 or 1.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit.

    Returns
    -------
    PlattMap
        The map of smallest loss with ``|a| <= SLOPE_LIMIT``. Where all p are equal it is constant.

    Raises
    ------
    ValueError
        If `p` and `y` are empty, of unequal length, or out of range.

    References
    ----------
    Platt, *Probabilistic outputs for support vector machines*, 1999 (the targets). Lin, Lin and
    Weng, *A note on Platt's probabilistic outputs for support vector machines*, Machine Learning
    68, 2007, Algorithm 1 (Newton's method with a line search).

    Examples
    --------
    >>> fitted = fit_platt([0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [1, 1, 0, 0, 0, 1])
    >>> [round(fitted.predict(p), 6) for p in (0.1, 0.5, 0.9)]
    [0.4, 0.5, 0.6]
    """
    probabilities, labels = check_outcomes(p, y)
    logits = clipped_logit(probabilities, clip)
    targets = smoothed_targets(labels)
    mean = float(logits.sum()) / logits.size
    # The sums of a constant round too; it must not come out as a line of tiny deviations.
    centred = logits - mean if float(np.ptp(logits)) > 0.0 else np.zeros_like(logits)
    positives = int(labels.sum())
    start = (0.0, float(np.log((positives + 1.0) / (labels.size - positives + 1.0))))
    a, b = _minimise(centred, targets, start, slope_fixed=False)
    if abs(a) > SLOPE_LIMIT:
        # The loss is convex, so the best line within the limit has its slope on the limit.
        a, b = _minimise(centred, targets, (np.copysign(SLOPE_LIMIT, a), b), slope_fixed=True)
    return PlattMap(a, b - a * mean, clip)


def _minimise(x: Floats, targets: Floats, line: Line, slope_fixed: bool) -> Line:
    """Return the slope and intercept of smallest log-loss by Newton's method."""
    squares = x * x
    # Well above what rounding makes of the loss, well below what matters.
    nothing = 1e-12 * x.size
    a, b = line
    loss, gradient, curvature = log_loss(a * x + b, targets)
    for _ in range(100):
        ga, gb = float((gradient * x).sum()), float(gradient.sum())
        # The ridge gives a step where all x are equal or all forecasts are certain.
        haa = float((curvature * squares).sum()) + 1e-12
        hab, hbb = float((curvature * x).sum()), float(curvature.sum()) + 1e-12
        if slope_fixed:
            step_a, step_b = 0.0, -gb / hbb
        else:
            determinant = haa * hbb - hab * hab
            if not determinant > 0.0:
                break
            step_a = (hab * gb - hbb * ga) / determinant
            step_b = (hab * ga - haa * gb) / determinant
        descent = ga * step_a + gb * step_b
        if not descent < 0.0:
            break
        scale = 1.0
        while scale > 1e-10:
            new = log_loss((a + scale * step_a) * x + (b + scale * step_b), targets)
            if new[0] <= loss + 1e-4 * scale * descent + nothing:
                break
            scale *= 0.5
        else:
            break
        a, b = a + scale * step_a, b + scale * step_b
        loss, gradient, curvature = new
        # A whole step squares the error, so this one has brought it below rounding.
        if scale == 1.0 and -descent < nothing:
            break
    return float(a), float(b)
