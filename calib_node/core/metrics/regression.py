# SPDX-License-Identifier: Apache-2.0
"""Calibration slope and intercept: a logistic regression of labels on logits."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from calib_node.core.metrics.checks import Floats, check_samples
from calib_node.core.numerics.logistic import fit_intercept, fit_line
from calib_node.core.numerics.sigmoid import clipped_logit
from calib_node.core.ranges import Interval, check_number

LOGIT_CLIP = 1e-6
"""Probabilities are clipped to ``[LOGIT_CLIP, 1 - LOGIT_CLIP]`` before the logit."""

# Below it 1 - clip would be 1, which has no logit.
CLIP_LIMITS = Interval(1e-15, 0.5, high_open=True)


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
        `p` is clipped to ``[clip, 1 - clip]`` before the logit; from 1e-15 to below 0.5.

    Returns
    -------
    SlopeIntercept
        Slope, and intercept in logits.

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
    slope, intercept, converged = fit_line(x, labels)
    if not converged:
        raise ValueError(
            'the probabilities all but separate the labels, so that the best slope is lost to '
            'rounding: take samples enough for the classes to overlap'
        )
    return SlopeIntercept(slope, intercept)


def calibration_in_the_large(p: ArrayLike, y: ArrayLike, clip: float = LOGIT_CLIP) -> float:
    """Intercept of the logistic regression of `y` on logit `p` with the slope held at 1.

    Above 0 the probabilities are too low on the whole: Cox, as `slope_intercept`; van Calster and
    others, *Calibration: the Achilles heel of predictive analytics*, BMC Medicine 17, 2019.

    Parameters
    ----------
    p, y, clip
        As in `slope_intercept`.

    Returns
    -------
    float
        The intercept, in logits.

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
    return fit_intercept(*_logits(p, y, clip))


def _logits(p: ArrayLike, y: ArrayLike, clip: float) -> tuple[Floats, Floats]:
    """Return the clipped logits and the labels, of which there are both kinds."""
    probabilities, labels = check_samples(p, y)
    clip = check_number('clip', clip, CLIP_LIMITS)
    if labels.min() == labels.max():
        raise ValueError(
            f'all labels are {labels[0]:.0f}, so no finite intercept fits best: '
            'take samples enough to have labels of both kinds'
        )
    return clipped_logit(probabilities, clip), labels
