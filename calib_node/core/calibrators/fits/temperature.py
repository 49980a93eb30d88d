# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling of a whole set of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.fits.checks import (
    Floats,
    check_classes,
    check_clip,
    check_floor,
    check_outcomes,
    check_probabilities,
)
from calib_node.core.calibrators.fits.platt import PlattMap, smoothed_targets
from calib_node.core.numerics.logistic import log_loss
from calib_node.core.numerics.sigmoid import clipped_logit, sigmoids
from calib_node.core.ranges import POSITIVE, check_number

SMALLEST_PROBABILITY = 1e-38
"""What a softmax in single precision puts below it comes out as 0."""
LOWEST_TEMPERATURE = 0.01
"""Of a model that is always right the best temperature would be 0."""
HIGHEST_TEMPERATURE = 1000.0
"""Of a model that is wrong more than right it would be infinite."""
CLOSE = 1e-10
"""Relative step at which the temperature is found: the next would be of its square."""


@dataclass(frozen=True)
class TemperatureMap:
    """The map ``softmax(z / temperature)``, z logits or the logarithms of probabilities.

    Attributes
    ----------
    temperature : float
        Above 1 the probabilities become less sure, below 1 more.
    floor : float
        Probabilities below it are taken as it before the logarithm; above 0 and below 1.

    Raises
    ------
    ValueError
        If `temperature` is not above 0, or `floor` is out of range.

    Examples
    --------
    >>> TemperatureMap(2.0).transform([0.8, 0.2]).round(6).tolist()
    [0.666667, 0.333333]
    """

    temperature: float
    floor: float = SMALLEST_PROBABILITY

    def __post_init__(self) -> None:
        check_number('temperature', self.temperature, POSITIVE)
        check_floor(self.floor)

    def transform(self, probabilities: ArrayLike) -> Floats:
        """Return calibrated probabilities of one or many samples.

        Parameters
        ----------
        probabilities : array_like of float, shape (..., K)
            One probability per class.

        Returns
        -------
        ndarray of float, shape (..., K)
            Probabilities that sum to 1.

        Raises
        ------
        ValueError
            If any probability is outside [0, 1].
        """
        p = check_probabilities(probabilities)
        return self.transform_logits(np.log(np.maximum(p, self.floor)))

    def transform_logits(self, logits: ArrayLike) -> Floats:
        """Return calibrated probabilities of the logits of one or many samples.

        Parameters
        ----------
        logits : array_like of float, shape (..., K)
            One logit per class.

        Returns
        -------
        ndarray of float, shape (..., K)
            Probabilities that sum to 1.

        Raises
        ------
        ValueError
            If a logit is not finite.
        """
        z = np.asarray(logits, dtype=np.float64)
        if not np.all(np.isfinite(z)):
            raise ValueError('all logits must be finite')
        return softmax(1.0 / self.temperature, z)


def softmax(beta: float, z: Floats) -> Floats:
    """Return ``softmax(beta z)`` over the last axis.

    Returns
    -------
    ndarray of float, shape of `z`
        Probabilities that sum to 1 over the last axis.
    """
    powers = np.exp(beta * (z - z.max(axis=-1, keepdims=True)))
    result: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return result


def fit_temperature(
    p: ArrayLike, y: ArrayLike, floor: float = SMALLEST_PROBABILITY
) -> TemperatureMap:
    """Fit the temperature of smallest log-loss to probabilities of K classes.

    Parameters
    ----------
    p : array_like of float, shape (n, K)
        One row per sample; the rows need not sum to 1 exactly.
    y : array_like of int, shape (n,)
        Class indices.
    floor : float
        Probabilities below it are taken as it before the logarithm, so that a label whose class
        had none does not decide alone; above 0 and below 1.

    Returns
    -------
    TemperatureMap
        Of a temperature from `LOWEST_TEMPERATURE` to `HIGHEST_TEMPERATURE`.

    Raises
    ------
    ValueError
        If a shape, a probability, a label or `floor` is wrong.

    References
    ----------
    Guo et al., *On calibration of modern neural networks*, ICML 2017, Section 4.2.

    Examples
    --------
    >>> p = [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]
    >>> fitted = fit_temperature(p, [0, 0, 1, 1])
    >>> round(fitted.temperature, 6)
    2.0
    >>> fitted.transform([0.9, 0.1]).round(6).tolist()
    [0.75, 0.25]
    """
    probabilities, labels = check_classes(p, y, 'probabilities')
    check_probabilities(probabilities)
    floor = check_floor(floor)
    fitted = fit_temperature_logits(np.log(np.maximum(probabilities, floor)), labels)
    return TemperatureMap(fitted.temperature, floor)


def fit_temperature_logits(logits: ArrayLike, y: ArrayLike) -> TemperatureMap:
    """Fit the temperature of smallest log-loss to logits of K classes.

    Parameters
    ----------
    logits : array_like of float, shape (n, K)
        One row per sample.
    y : array_like of int, shape (n,)
        Class indices.

    Returns
    -------
    TemperatureMap
        As of `fit_temperature`.

    Raises
    ------
    ValueError
        If a shape, a logit or a label is wrong.

    Examples
    --------
    >>> fit_temperature_logits([[2.0, 0.0], [0.0, 0.0]], [0, 1]).temperature
    0.01
    """
    z, labels = check_classes(logits, y, 'logits')
    z = z - z.max(axis=1, keepdims=True)
    true = z[np.arange(labels.size), labels]

    def loss(beta: float) -> float:
        return float((np.log(np.exp(beta * z).sum(axis=1)) - beta * true).mean())

    def derivatives(beta: float) -> Derivatives:
        powers = np.exp(beta * z)
        total = powers.sum(axis=1)
        weighted = powers * z
        mean = weighted.sum(axis=1) / total
        variance = (weighted * z).sum(axis=1) / total - mean * mean
        return float((mean - true).mean()), float(variance.mean())

    return TemperatureMap(1.0 / _minimise(loss, derivatives))


def fit_binary_temperature(
    p: ArrayLike, y: ArrayLike, clip: float = 0.01, smooth: bool = False
) -> PlattMap:
    """Fit ``sigmoid(logit(p) / T)`` by the log-loss.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities of the positive class.
    y : array_like of int, shape (n,)
        Labels, 0 or 1.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit; from 1e-9 to below 0.5.
    smooth : bool
        Whether the targets are those of Platt scaling in place of the labels, so that a model
        which was always right is not taken as certain.

    Returns
    -------
    PlattMap
        With ``a = 1 / T`` and ``b = 0``.

    Raises
    ------
    ValueError
        If `p` and `y` are empty, of unequal length, or out of range, or `clip` is.

    Examples
    --------
    >>> round(fit_binary_temperature([0.9, 0.9, 0.9, 0.1], [1, 1, 0, 0]).a, 6)
    0.5
    """
    probabilities, labels = check_outcomes(p, y)
    clip = check_clip(clip)
    logits = clipped_logit(probabilities, clip)
    targets = smoothed_targets(labels) if smooth else labels.astype(np.float64)
    squares = logits * logits

    def loss(beta: float) -> float:
        return log_loss(beta * logits, targets).total

    def derivatives(beta: float) -> Derivatives:
        q = sigmoids(beta * logits)
        return float((q - targets).dot(logits)), float((q - q * q).dot(squares))

    return PlattMap(_minimise(loss, derivatives), 0.0, clip)


Derivatives = tuple[float, float]
"""First and second derivative of a loss in beta = 1 / T."""


def _minimise(loss: Callable[[float], float], derivatives: Callable[[float], Derivatives]) -> float:
    """Return the beta of smallest loss within the limits, 1 where none is better.

    Newton's method on ``t = ln T`` with steps of at most 1. Where the loss is not convex in t it
    steps in beta, in which it always is. Both are kept within the bracket that the sign of the
    gradient gives.
    """
    low, high = 1.0 / HIGHEST_TEMPERATURE, 1.0 / LOWEST_TEMPERATURE
    beta = 1.0
    if derivatives(high)[0] <= 0.0:
        beta = high
    elif derivatives(low)[0] >= 0.0:
        beta = low
    else:
        gradient, curvature = derivatives(beta)
        for _ in range(200):
            if gradient > 0.0:
                high = beta
            elif gradient < 0.0:
                low = beta
            else:
                break
            curvature_in_t = beta * beta * curvature + beta * gradient
            if curvature_in_t > 0.0:
                proposal = beta * exp(-min(max(beta * gradient / curvature_in_t, -1.0), 1.0))
            elif curvature > 0.0:
                proposal = beta - gradient / curvature
            else:
                proposal = high
            if abs(proposal - beta) <= CLOSE * beta:
                break
            if not low < proposal < high:
                proposal = sqrt(low * high)
            beta = proposal
            gradient, curvature = derivatives(beta)
    return beta if loss(beta) < loss(1.0) else 1.0
