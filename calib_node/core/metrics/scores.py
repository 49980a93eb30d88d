# SPDX-License-Identifier: Apache-2.0
"""Scores of whole arrays of probabilities and labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LOG_LOSS_CLIP = 0.001
"""Probabilities are clipped to ``[LOG_LOSS_CLIP, 1 - LOG_LOSS_CLIP]`` in a log-loss."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram in numbers, one entry a bin.

    Attributes
    ----------
    count : ndarray of int, shape (bins,)
        Samples in the bin.
    mean : ndarray of float, shape (bins,)
        Mean probability; NaN where the bin is empty.
    frequency : ndarray of float, shape (bins,)
        Share of positive labels; NaN where the bin is empty.
    """

    count: NDArray[np.int64]
    mean: Floats
    frequency: Floats

    @property
    def gap(self) -> Floats:
        """Absolute difference of mean probability and frequency, 0 where the bin is empty."""
        return np.where(self.count > 0, np.abs(self.mean - self.frequency), 0.0)


def check_samples(p: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return probabilities and labels as float arrays.

    Raises
    ------
    ValueError
        If they are empty, of unequal length, or out of range.
    """
    probabilities = np.asarray(p, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64)
    if probabilities.ndim != 1 or probabilities.shape != labels.shape:
        raise ValueError(
            'probabilities and labels must be one-dimensional and of equal length, '
            f'not of shapes {probabilities.shape} and {labels.shape}'
        )
    if probabilities.size == 0:
        raise ValueError('there are no samples to score')
    if not bool(np.all((probabilities >= 0.0) & (probabilities <= 1.0))):
        raise ValueError('every probability must be within [0, 1]')
    if not bool(np.all((labels == 0.0) | (labels == 1.0))):
        raise ValueError('every label must be 0 or 1')
    return probabilities, labels


def reliability(p: ArrayLike, y: ArrayLike, bins: int = 15) -> Reliability:
    """Count, mean probability and frequency in `bins` equal-width bins, p = 1 in the last.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities of the positive class.
    y : array_like of int, shape (n,)
        Labels, 0 or 1.
    bins : int
        Number of bins.

    Examples
    --------
    >>> diagram = reliability([0.1, 0.1, 0.9], [0, 1, 1], bins=2)
    >>> diagram.count.tolist(), diagram.frequency.tolist()
    ([2, 1], [0.5, 1.0])
    """
    if bins < 1:
        raise ValueError(f'bins must be at least 1, not {bins}')
    probabilities, labels = check_samples(p, y)
    index = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    count = np.bincount(index, minlength=bins)
    with np.errstate(invalid='ignore'):
        mean = np.bincount(index, probabilities, bins) / count
        frequency = np.bincount(index, labels, bins) / count
    return Reliability(count, mean, frequency)


def ece(p: ArrayLike, y: ArrayLike, bins: int = 15) -> float:
    """Expected calibration error over equal-width bins.

    The mean over the samples of ``|mean probability - frequency|`` in their bin: Naeini, Cooper
    and Hauskrecht, *Obtaining well calibrated probabilities using Bayesian binning*, AAAI 2015.

    Examples
    --------
    >>> round(ece([0.1, 0.1, 0.9], [0, 1, 1], bins=2), 4)
    0.3
    """
    diagram = reliability(p, y, bins)
    return float(np.sum(diagram.count * diagram.gap) / np.sum(diagram.count))


def brier(p: ArrayLike, y: ArrayLike) -> float:
    """Mean squared difference of probability and label (Brier, 1950).

    Examples
    --------
    >>> round(brier([0.8, 0.4], [1, 0]), 4)
    0.1
    """
    probabilities, labels = check_samples(p, y)
    return float(np.mean((probabilities - labels) ** 2))


def log_loss(p: ArrayLike, y: ArrayLike, clip: float = LOG_LOSS_CLIP) -> float:
    """Mean negative log-likelihood, probabilities clipped to ``[clip, 1 - clip]``.

    Examples
    --------
    >>> round(log_loss([0.8, 1.0], [1, 0]), 4)
    3.5654
    """
    probabilities, labels = check_samples(p, y)
    clipped = np.clip(probabilities, clip, 1.0 - clip)
    return -float(np.mean(np.where(labels == 1.0, np.log(clipped), np.log1p(-clipped))))


def accuracy(p: ArrayLike, y: ArrayLike) -> float:
    """Share of samples on the right side of one half; p = 0.5 counts as negative.

    Examples
    --------
    >>> accuracy([0.8, 0.5], [1, 1])
    0.5
    """
    probabilities, labels = check_samples(p, y)
    return float(np.mean((probabilities > 0.5) == (labels == 1.0)))
