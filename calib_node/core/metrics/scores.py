# SPDX-License-Identifier: Apache-2.0
"""Proper scores and accuracy of binary probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.metrics.checks import check_samples
from calib_node.core.ranges import Interval, check_number

LOG_LOSS_CLIP = 0.001
"""Probabilities are clipped to ``[LOG_LOSS_CLIP, 1 - LOG_LOSS_CLIP]`` in a log-loss."""

LOG_LOSS_CLIPS = Interval(0.0, 0.5, high_open=True)


def brier(p: ArrayLike, y: ArrayLike) -> float:
    """Mean squared difference of probability and label.

    Brier, *Verification of forecasts expressed in terms of probability*, Monthly Weather Review
    78, 1950; of the positive class alone, so from 0 to 1.

    Parameters
    ----------
    p, y
        As in `check_samples`, which also says what is refused.

    Returns
    -------
    float
        Squared probability, from 0 to 1.

    Examples
    --------
    >>> round(brier([0.8, 0.4], [1, 0]), 4)
    0.1
    """
    probabilities, labels = check_samples(p, y)
    return float(np.mean((probabilities - labels) ** 2))


def log_loss(p: ArrayLike, y: ArrayLike, clip: float = LOG_LOSS_CLIP) -> float:
    """Mean negative log-likelihood, probabilities clipped to ``[clip, 1 - clip]``.

    Parameters
    ----------
    p, y
        As in `check_samples`, which also says what is refused.
    clip : float
        At least 0 and below 0.5. With 0 one certain mistake makes the score infinite.

    Returns
    -------
    float
        In nats.

    Raises
    ------
    ValueError
        For samples that cannot be scored, and a `clip` out of range.

    Examples
    --------
    >>> round(log_loss([0.8, 1.0], [1, 0]), 4)
    3.5654
    """
    probabilities, labels = check_samples(p, y)
    clip = check_number('clip', clip, LOG_LOSS_CLIPS)
    clipped = np.clip(probabilities, clip, 1.0 - clip)
    with np.errstate(divide='ignore'):
        logarithms = np.where(labels == 1.0, np.log(clipped), np.log1p(-clipped))
    return 0.0 - float(np.mean(logarithms))


def accuracy(p: ArrayLike, y: ArrayLike) -> float:
    """Share of samples on the right side of one half; p = 0.5 counts as negative.

    Parameters
    ----------
    p, y
        As in `check_samples`, which also says what is refused.

    Returns
    -------
    float
        Share, from 0 to 1.

    Examples
    --------
    >>> accuracy([0.8, 0.5], [1, 1])
    0.5
    """
    probabilities, labels = check_samples(p, y)
    return float(np.mean((probabilities > 0.5) == (labels == 1.0)))
