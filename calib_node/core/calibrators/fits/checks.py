# SPDX-License-Identifier: Apache-2.0
"""Samples that a map is fitted to, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.calibrators.parameters import check_parameters
from calib_node.core.ranges import Interval, check_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FLOORS = Interval(0.0, 1.0, low_open=True, high_open=True)


def check_clip(clip: float) -> float:
    """Return the clip of a logit as a float, or raise a ValueError that states its range."""
    checked: float = check_parameters({'clip': clip})['clip']
    return checked


def check_floor(floor: float) -> float:
    """Return the floor of a probability as a float, or raise a ValueError that states its range."""
    return check_number('floor', floor, FLOORS)


def check_probabilities(p: ArrayLike) -> Floats:
    """Return probabilities as an array of their shape.

    Raises
    ------
    ValueError
        If one of them is outside [0, 1].
    """
    probabilities = np.asarray(p, dtype=np.float64)
    if not np.all((probabilities >= 0.0) & (probabilities <= 1.0)):
        raise ValueError('every probability must be within [0, 1]')
    return probabilities


def check_outcomes(p: ArrayLike, y: ArrayLike) -> tuple[Floats, Integers]:
    """Return probabilities and binary labels as arrays.

    Returns
    -------
    probabilities : ndarray of float, shape (n,)
        At least one, within [0, 1].
    labels : ndarray of int, shape (n,)
        0 or 1.

    Raises
    ------
    ValueError
        If they are empty, of unequal length, or out of range.
    """
    probabilities, labels = np.asarray(p, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if probabilities.ndim != 1 or probabilities.shape != labels.shape:
        raise ValueError(
            'probabilities and labels must be one-dimensional and of equal length, '
            f'not of shapes {probabilities.shape} and {labels.shape}'
        )
    if not probabilities.size:
        raise ValueError('there are no samples to fit to')
    check_probabilities(probabilities)
    if not np.all((labels == 0.0) | (labels == 1.0)):
        raise ValueError('every label must be 0 or 1')
    return probabilities, labels.astype(np.int64)


def check_classes(values: ArrayLike, y: ArrayLike, what: str) -> tuple[Floats, Integers]:
    """Return numbers of K classes and class indices as arrays.

    Returns
    -------
    array : ndarray of float, shape (n, K)
        Finite numbers, n > 0 and K > 1.
    labels : ndarray of int, shape (n,)
        From 0 to K - 1.

    Raises
    ------
    ValueError
        If a shape, a number or an index is wrong.
    """
    array, labels = np.asarray(values, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < 2 or labels.shape != array.shape[:1]:
        raise ValueError(
            f'{what} must be of shape (n, K), K >= 2, and labels of shape (n,), '
            f'not {array.shape} and {labels.shape}'
        )
    if not labels.size:
        raise ValueError('there are no samples to fit to')
    if not np.all(np.isfinite(array)):
        raise ValueError(f'all {what} must be finite')
    classes = array.shape[1]
    if not np.all((labels >= 0) & (labels < classes) & (labels == np.floor(labels))):
        raise ValueError(f'every label must be a class index from 0 to {classes - 1}')
    return array, labels.astype(np.int64)
