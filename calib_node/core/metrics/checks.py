# SPDX-License-Identifier: Apache-2.0
"""What may be scored, and the sentence that refuses anything else."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.ranges import SUM_TOLERANCE, Interval, check_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BINS = Interval(1, 10_000_000, whole=True)
"""Numbers of bins; the upper end is far above any use, and far below what memory holds."""


def _first(values: NDArray[np.generic], good: NDArray[np.bool_]) -> str:
    """Return the first value that is not good, and where it is."""
    at = np.unravel_index(int(np.argmin(good)), good.shape)
    return f'{values[at].item()!r} (sample {int(at[0])})'


def _check_probabilities(p: Floats) -> None:
    good = (p >= 0.0) & (p <= 1.0)
    if not good.all():
        raise ValueError(
            f'every probability must be within [0, 1], not {_first(p, good)}: '
            'turn scores and per cent into probabilities, and leave out what is not a number'
        )


def _check_any(samples: int) -> None:
    if not samples:
        raise ValueError('there are no samples to score: an empty window has no figures')


def check_samples(p: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return probabilities and labels as float arrays.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities of the positive class.
    y : array_like of int or bool, shape (n,)
        Labels, 0 or 1.

    Returns
    -------
    p, y : ndarray of float, shape (n,)

    Raises
    ------
    ValueError
        If they are empty, of unequal length, out of range or NaN.

    Examples
    --------
    >>> check_samples([0.5, 1], [True, False])
    (array([0.5, 1. ]), array([1., 0.]))
    """
    probabilities = np.asarray(p, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64)
    if probabilities.ndim != 1 or probabilities.shape != labels.shape:
        raise ValueError(
            'probabilities and labels must be one-dimensional and of equal length, not of shapes '
            f'{probabilities.shape} and {labels.shape}: give each probability its label, and '
            'several classes to the multi-class scores'
        )
    _check_any(probabilities.size)
    _check_probabilities(probabilities)
    good = (labels == 0.0) | (labels == 1.0)
    if not good.all():
        raise ValueError(
            f'every label must be 0 or 1, not {_first(labels, good)}: '
            'give class indices to the multi-class scores'
        )
    return probabilities, labels


def check_classes(p: ArrayLike, y: ArrayLike) -> tuple[Floats, Integers]:
    """Return the probabilities of several classes, and class indices, as arrays.

    Parameters
    ----------
    p : array_like of float, shape (n, K)
        One probability per class, K >= 2; each row sums to 1 within `SUM_TOLERANCE`.
    y : array_like of int, shape (n,)
        Indices of the true classes, 0 to K - 1.

    Returns
    -------
    p : ndarray of float, shape (n, K)
    y : ndarray of int, shape (n,)

    Raises
    ------
    ValueError
        If they are empty, of unequal length, out of range or NaN, or a row does not sum to 1.

    Examples
    --------
    >>> check_classes([[0.2, 0.3, 0.5]], [2.0])
    (array([[0.2, 0.3, 0.5]]), array([2]))
    """
    probabilities = np.asarray(p, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64)
    if probabilities.size == 0 and labels.size == 0:
        _check_any(0)
    if probabilities.ndim != 2 or probabilities.shape[1] < 2 or labels.ndim != 1:
        raise ValueError(
            'probabilities must be of shape (n, K) with K >= 2, and class indices of shape (n,), '
            f'not {probabilities.shape} and {labels.shape}: '
            'give one probability per sample to the binary scores'
        )
    if len(probabilities) != len(labels):
        raise ValueError(
            'probabilities and class indices must be of equal length, not of '
            f'{len(probabilities)} and {len(labels)}: give each row its class'
        )
    _check_probabilities(probabilities)
    sums = probabilities.sum(axis=1)
    good = np.abs(sums - 1.0) <= SUM_TOLERANCE
    if not good.all():
        raise ValueError(
            f'every row of probabilities must sum to 1, not {_first(sums, good)}: '
            'give all classes, and normalise what is not yet a distribution'
        )
    last = probabilities.shape[1] - 1
    good = (labels >= 0.0) & (labels <= last) & (labels == np.floor(labels))
    if not good.all():
        raise ValueError(
            f'every class index must be a whole number from 0 to {last}, '
            f'not {_first(labels, good)}: classes are counted from 0'
        )
    return probabilities, labels.astype(np.int64)


def check_bins(bins: int) -> int:
    """Return a number of bins as an int, or raise a ValueError that states its range."""
    return int(check_number('bins', bins, BINS))
