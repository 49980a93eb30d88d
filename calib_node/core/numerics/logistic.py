# SPDX-License-Identifier: Apache-2.0
"""Logistic regression on one feature, by Newton's method."""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 200


class Line(NamedTuple):
    """The logit ``slope x + intercept`` that a logistic regression gives."""

    slope: float
    intercept: float
    converged: bool
    """Whether it is the minimum; if not, the minimum is at infinity or lost to rounding."""


class LogLoss(NamedTuple):
    """Log-loss of forecasts ``sigmoid(z)`` summed over the samples, with its derivatives in z."""

    total: float
    gradient: Floats
    curvature: Floats


def log_loss(z: Floats, targets: Floats) -> LogLoss:
    """Return the summed log-loss of ``sigmoid(z)``, its gradient in z and its curvature in z.

    Parameters
    ----------
    z : ndarray of float, shape (n,)
        Logits of the forecasts.
    targets : ndarray of float, shape (n,)
        Probabilities to be forecast, or labels; within [0, 1].

    Returns
    -------
    LogLoss
        The loss in nats, and two arrays of shape (n,). No digits are lost where a forecast is near
        its target and that is 0 or 1.

    Examples
    --------
    >>> loss, gradient, curvature = log_loss(np.array([0.0, 1000.0]), np.array([1.0, 1.0]))
    >>> round(loss, 6), gradient.tolist(), curvature.tolist()
    (0.693147, [-0.5, 0.0], [0.25, 0.0])
    """
    small = np.exp(-np.abs(z))
    smaller = small / (1.0 + small)
    above = z > 0.0
    # Both from the nearer of 0 and 1, so that nothing cancels where the target is one of them.
    past = above - targets
    loss = float(np.log1p(small).sum() + z.dot(past))
    gradient: Floats = past + np.where(above, -smaller, smaller)
    return LogLoss(loss, gradient, smaller - smaller * smaller)


def fit_line(x: Floats, targets: Floats) -> Line:
    """Minimise the log-loss of ``sigmoid(slope x + intercept)`` by damped Newton steps.

    Parameters
    ----------
    x : ndarray of float, shape (n,)
        The feature. Where it is constant the slope is 0.
    targets : ndarray of float, shape (n,)
        Probabilities to be forecast, or labels; within [0, 1] and of a mean that is neither.

    Returns
    -------
    Line
        In logits per unit of `x`, and in logits.

    References
    ----------
    Lin, Lin and Weng, *A note on Platt's probabilistic outputs for support vector machines*,
    Machine Learning 68, 2007, Algorithm 1 (Newton's method with a line search).

    Examples
    --------
    >>> x = np.array([-2.0, -2.0, -2.0, 2.0, 2.0, 2.0])
    >>> line = fit_line(x, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0]))
    >>> round(line.slope, 4), abs(round(line.intercept, 4)), line.converged
    (0.3466, 0.0, True)
    """
    # Newton steps are the same on any scale, but for rounding. A constant does not average to
    # itself, and must not come out as a line of tiny deviations.
    low, high = float(x.min()), float(x.max())
    middle, scale = (float(x.mean()), high - low) if low < high else (low, 1.0)
    slope, intercept, converged = _newton((x - middle) / scale, targets)
    slope /= scale
    return Line(slope, intercept - slope * middle, converged)


def _newton(x: Floats, targets: Floats) -> Line:
    """Return what `fit_line` does, of a feature that is centred and scaled."""
    rate = float(targets.mean())
    slope, intercept = 0.0, log(rate / (1.0 - rate))
    now = log_loss(np.full_like(x, intercept), targets)
    for _ in range(STEPS):
        total = float(now.curvature.sum())
        if total <= 0.0:
            break
        # With the feature centred by the weights the two unknowns are apart.
        centre = float(now.curvature.dot(x)) / total
        apart = x - centre
        spread = float(now.curvature.dot(apart * apart))
        for_slope = float(now.gradient.dot(apart))
        if spread > 0.0:
            for_slope /= spread
        elif for_slope != 0.0:
            break
        for_centre = float(now.gradient.sum()) / total
        for_intercept = for_centre - centre * for_slope
        decrement = for_slope * for_slope * spread + for_centre * for_centre * total
        # It is about what the loss can still fall by, and the last step squares what is left.
        if decrement <= 1e-16 * now.total:
            return Line(slope - for_slope, intercept - for_intercept, True)
        damping = 1.0
        while damping > 1e-60:
            new_slope = slope - damping * for_slope
            new_intercept = intercept - damping * for_intercept
            new = log_loss(new_slope * x + new_intercept, targets)
            if new.total <= now.total * (1.0 + 1e-14) - 0.1 * damping * decrement:
                break
            damping *= 0.25
        else:
            break
        slope, intercept, now = new_slope, new_intercept, new
    return Line(slope, intercept, False)


def fit_intercept(offset: Floats, targets: Floats) -> float:
    """Minimise the log-loss of ``sigmoid(offset + intercept)`` by Newton steps within a bracket.

    Parameters
    ----------
    offset : ndarray of float, shape (n,)
        Logits that are given.
    targets : ndarray of float, shape (n,)
        As of `fit_line`.

    Returns
    -------
    float
        The intercept, in logits.

    Examples
    --------
    >>> round(fit_intercept(np.zeros(4), np.array([1.0, 1.0, 1.0, 0.0])), 4)
    1.0986
    """
    rate = float(targets.mean())
    centre = log(rate / (1.0 - rate))
    low, high = centre - float(offset.max()), centre - float(offset.min())
    intercept = 0.5 * (low + high)
    for _ in range(STEPS):
        _, gradient, curvature = log_loss(offset + intercept, targets)
        excess = float(gradient.sum())
        if excess > 0.0:
            high = intercept
        else:
            low = intercept
        total = float(curvature.sum())
        step = excess / total if total > 0.0 else inf
        before, intercept = intercept, intercept - step
        if not low <= intercept <= high:
            intercept = 0.5 * (low + high)
        if abs(intercept - before) <= 1e-15 * (1.0 + abs(intercept)):
            break
    return intercept
