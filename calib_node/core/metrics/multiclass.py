# SPDX-License-Identifier: Apache-2.0
"""Scores of probabilities over several classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.metrics.binning import Binning, Closed
from calib_node.core.metrics.calibration_error import ece, mce
from calib_node.core.metrics.checks import Floats, check_classes
from calib_node.core.metrics.scores import LOG_LOSS_CLIP, LOG_LOSS_CLIPS
from calib_node.core.ranges import check_number


def top_label(p: ArrayLike, y: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the largest probability of each row, and whether it was that of the true class.

    They are the binary samples of top-label calibration, for any binary score; the mean of the
    second is the accuracy. Of several classes with the largest probability the first counts.

    Parameters
    ----------
    p, y
        As in `check_classes`, which also says what is refused.

    Returns
    -------
    confidence : ndarray of float, shape (n,)
    correct : ndarray of bool, shape (n,)

    Examples
    --------
    >>> confidence, correct = top_label([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], [1, 0])
    >>> confidence.tolist(), correct.tolist()
    ([0.5, 0.7], [False, True])
    """
    probabilities, labels = check_classes(p, y)
    return probabilities.max(axis=1), probabilities.argmax(axis=1) == labels


def top_label_ece(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """ECE of the largest probability of each row.

    Guo, Pleiss, Sun and Weinberger, *On calibration of modern neural networks*, ICML 2017.

    Parameters
    ----------
    p, y
        As in `check_classes`, which also says what is refused.
    bins, binning, closed
        As in `reliability`.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(top_label_ece([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], [1, 0], bins=2), 4)
    0.1
    """
    return ece(*top_label(p, y), bins, binning=binning, closed=closed)


def top_label_mce(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """MCE of the largest probability of each row, as `top_label_ece`.

    Parameters
    ----------
    p, y
        As in `check_classes`, which also says what is refused.
    bins, binning, closed
        As in `reliability`.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(top_label_mce([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], [1, 0], bins=10), 4)
    0.5
    """
    return mce(*top_label(p, y), bins, binning=binning, closed=closed)


def classwise_ece(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """Mean over the classes of the ECE of each class against all others.

    Kull and others, *Beyond temperature scaling*, NeurIPS 2019.

    Parameters
    ----------
    p, y
        As in `check_classes`, which also says what is refused.
    bins, binning, closed
        As in `reliability`.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(classwise_ece([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], [1, 0], bins=1), 4)
    0.2
    """
    probabilities, labels = check_classes(p, y)
    errors = [
        ece(of_class, labels == index, bins, binning=binning, closed=closed)
        for index, of_class in enumerate(probabilities.T)
    ]
    return float(np.mean(errors))


def multiclass_brier(p: ArrayLike, y: ArrayLike) -> float:
    """Squared distance of each row from its true class, summed over classes; from 0 to 2.

    Brier's own form of 1950. With two classes it is twice the binary `brier`.

    Parameters
    ----------
    p, y
        As in `check_classes`, which also says what is refused.

    Returns
    -------
    float
        Squared probability, from 0 to 2.

    Examples
    --------
    >>> round(multiclass_brier([[0.2, 0.3, 0.5]], [1]), 4)
    0.78
    """
    probabilities, labels = check_classes(p, y)
    truth = labels[:, np.newaxis] == np.arange(probabilities.shape[1])
    return float(np.mean(np.sum((probabilities - truth) ** 2, axis=1)))


def multiclass_log_loss(p: ArrayLike, y: ArrayLike, clip: float = LOG_LOSS_CLIP) -> float:
    """Mean negative logarithm of the true class's probability, clipped to ``[clip, 1 - clip]``.

    Rows are not normalised again after the clip. With two classes it is the binary `log_loss`.

    Parameters
    ----------
    p, y
        As in `check_classes`, which also says what is refused.
    clip : float
        As in `log_loss`.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> round(multiclass_log_loss([[0.2, 0.3, 0.5]], [1]), 4)
    1.204
    """
    probabilities, labels = check_classes(p, y)
    clip = check_number('clip', clip, LOG_LOSS_CLIPS)
    of_truth = probabilities[np.arange(len(labels)), labels]
    with np.errstate(divide='ignore'):
        return 0.0 - float(np.mean(np.log(np.clip(of_truth, clip, 1.0 - clip))))
