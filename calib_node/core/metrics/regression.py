# SPDX-License-Identifier: Apache-2.0
"""Calibration slope and intercept: a logistic regression of labels on logits."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.metrics.checks import Floats, check_samples
from calib_node.core.ranges import Interval, check_number

LOGIT_CLIP = 1e-6
"""Probabilities are clipped to ``[LOGIT_CLIP, 1 - LOGIT_CLIP]`` before the logit."""

CLIP_LIMITS = Interval(0.0, 0.5, low_open=True, high_open=True)
STEPS = 200


class SlopeIntercept(NamedTuple):
    """The map ``sigmoid(slope logit(p) + intercept)`` that fits the labels best."""

    slope: float
    intercept: float


def slope_intercept(p: ArrayLike, y: ArrayLike, clip: float = LOGIT_CLIP) -> SlopeIntercept:
    """Slope and intercept of the maximum-likelihood logistic regression of `y` on logit `p`.

    Cox, *Two further applications of a model for binary regression*, Biometrika 45, 1958. Honest
    probabilities have slope 1 and intercept 0; a slope below 1 means that they are too extreme.

    Parameters
    ----------
    p, y
        As in `check_samples`, which also says what is refused.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit; above 0 and below 0.5.

    Raises
    ------
    ValueError
        For samples that cannot be scored; and where there is no finite estimate: all labels are
        the same, all clipped probabilities are the same, or they separate the labels.

    See Also
    --------
    calibration_in_the_large : The intercept with the slope held at 1.

    Examples
    --------
    >>> fit = slope_intercept([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> round(fit.slope, 4), abs(round(fit.intercept, 4))
    (0.3155, 0.0)
    """
    x, labels = _logits(p, y, clip)
    negative, positive = x[labels == 0.0], x[labels == 1.0]
    if x.min() == x.max():
        raise ValueError(
            'all probabilities are the same, which leaves the slope open: '
            'calibration_in_the_large needs no slope'
        )
    if negative.max() <= positive.min() or positive.max() <= negative.min():
        raise ValueError(
            'the probabilities separate the labels, so no finite slope fits best: '
            'take samples enough for the classes to overlap'
        )
    # Newton steps are the same on any scale, but for rounding.
    centre, scale = x.mean(), x.std()
    slope, intercept = _newton((x - centre) / scale, labels)
    slope /= float(scale)
    return SlopeIntercept(slope, intercept - slope * float(centre))


def calibration_in_the_large(p: ArrayLike, y: ArrayLike, clip: float = LOGIT_CLIP) -> float:
    """Intercept of the logistic regression of `y` on logit `p` with the slope held at 1.

    Above 0 the probabilities are too low on the whole: Cox, as `slope_intercept`; van Calster and
    others, *Calibration: the Achilles heel of predictive analytics*, BMC Medicine 17, 2019.

    Parameters
    ----------
    p, y, clip
        As in `slope_intercept`.

    Raises
    ------
    ValueError
        For samples that cannot be scored, and where all labels are the same: there is no finite
        estimate.

    Examples
    --------
    >>> round(calibration_in_the_large([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 0]), 4)
    1.0986
    """
    x, labels = _logits(p, y, clip)
    rate = float(np.mean(labels))
    centre = log(rate / (1.0 - rate))
    low, high = centre - float(x.max()), centre - float(x.min())
    intercept = 0.5 * (low + high)
    for _ in range(STEPS):
        q = _sigmoid(x + intercept)
        excess = float(np.mean(q)) - rate
        if excess > 0.0:
            high = intercept
        else:
            low = intercept
        slope = float(np.mean(q * (1.0 - q)))
        step = excess / slope if slope > 0.0 else np.inf
        before, intercept = intercept, intercept - step
        if not low <= intercept <= high:
            intercept = 0.5 * (low + high)
        if abs(intercept - before) <= 1e-15 * (1.0 + abs(intercept)):
            break
    return intercept


def _logits(p: ArrayLike, y: ArrayLike, clip: float) -> tuple[Floats, Floats]:
    """Return the clipped logits and the labels, of which there are both kinds."""
    probabilities, labels = check_samples(p, y)
    clip = check_number('clip', clip, CLIP_LIMITS)
    if labels.min() == labels.max():
        raise ValueError(
            f'all labels are {labels[0]:.0f}, so no finite intercept fits best: '
            'take samples enough to have labels of both kinds'
        )
    clipped = np.clip(probabilities, clip, 1.0 - clip)
    return np.log(clipped) - np.log1p(-clipped), labels


def _sigmoid(z: Floats) -> Floats:
    with np.errstate(over='ignore'):
        sigmoid: Floats = 1.0 / (1.0 + np.exp(-z))
    return sigmoid


def _newton(x: Floats, labels: Floats) -> tuple[float, float]:
    """Minimise the log-loss of ``sigmoid(slope x + intercept)`` by damped Newton steps.

    Raises
    ------
    ValueError
        If the labels are so nearly separated that the minimum is lost to rounding.
    """
    sign = 2.0 * labels - 1.0
    rate = float(np.mean(labels))
    slope, intercept = 0.0, log(rate / (1.0 - rate))
    margin = sign * intercept
    loss = float(np.mean(np.logaddexp(0.0, -margin)))
    for _ in range(STEPS):
        # From the margin, since 1 - q has few digits left where q is near 1.
        wrong = _sigmoid(-margin)
        residual, weight = -sign * wrong, wrong * (1.0 - wrong)
        total = float(np.mean(weight))
        if total <= 0.0:
            break
        centre = float(np.mean(weight * x)) / total
        spread = float(np.mean(weight * (x - centre) ** 2))
        if spread <= 0.0:
            break
        for_slope = float(np.mean(residual * (x - centre))) / spread
        for_centre = float(np.mean(residual)) / total
        for_intercept = for_centre - centre * for_slope
        decrement = for_slope**2 * spread + for_centre**2 * total
        # It is about what the loss can still fall by, and the last step squares what is left.
        if decrement <= 1e-20 * loss:
            return slope - for_slope, intercept - for_intercept
        damping = 1.0
        while damping > 1e-60:
            new_slope = slope - damping * for_slope
            new_intercept = intercept - damping * for_intercept
            margin = sign * (new_slope * x + new_intercept)
            new_loss = float(np.mean(np.logaddexp(0.0, -margin)))
            if new_loss <= loss * (1.0 + 1e-14) - 0.1 * damping * decrement:
                break
            damping *= 0.25
        else:
            break
        slope, intercept, loss = new_slope, new_intercept, new_loss
    raise ValueError(
        'the probabilities all but separate the labels, so that the best slope is lost to '
        'rounding: take samples enough for the classes to overlap'
    )
