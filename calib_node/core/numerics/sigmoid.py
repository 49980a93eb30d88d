# SPDX-License-Identifier: Apache-2.0
"""The logistic function, its inverse, and how far it is from a label, without lost digits."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from calib_node.core.refusal import bad_label

Floats = NDArray[np.float64]

# exp overflows a double just above this.
LARGEST_EXPONENT = 709.0
SMALLEST_SIGMOID = 1.0 / (1.0 + exp(LARGEST_EXPONENT))


def sigmoid(z: float) -> float:
    """Return ``1 / (1 + exp(-z))``.

    The one formula on both sides of 0 is monotone in floats too, which ``exp / (1 + exp)`` on one
    of them is not.

    Returns
    -------
    float
        Within [0, 1]; NaN for NaN.

    Examples
    --------
    >>> sigmoid(0.0), sigmoid(1e6), sigmoid(float('nan'))
    (0.5, 1.0, nan)
    """
    # Asked this way round, NaN goes through the formula.
    return SMALLEST_SIGMOID if z <= -LARGEST_EXPONENT else 1.0 / (1.0 + exp(-z))


def residual(z: float, y: int) -> float:
    """Return ``sigmoid(z) - y``, the derivative of the log-loss in `z`.

    ``1 - sigmoid(z)`` is taken as ``sigmoid(-z)``, so that no digits are lost near 1.

    Returns
    -------
    float
        Within [-1, 1]; NaN for NaN.

    Raises
    ------
    ValueError
        If `y` is neither 0 nor 1.

    Examples
    --------
    >>> residual(0.0, 1), residual(40.0, 1)
    (-0.5, -4.248354255291589e-18)
    """
    if y == 0:
        return SMALLEST_SIGMOID if z <= -LARGEST_EXPONENT else 1.0 / (1.0 + exp(-z))
    if y == 1:
        return -SMALLEST_SIGMOID if z >= LARGEST_EXPONENT else -1.0 / (1.0 + exp(z))
    raise bad_label(y)


def sigmoids(z: Floats) -> Floats:
    """Return the sigmoid of each number of an array.

    Returns
    -------
    ndarray of float, as `z`
        Within [0, 1]; NaN for NaN.
    """
    result: Floats = 1.0 / (1.0 + np.exp(-np.maximum(z, -LARGEST_EXPONENT)))
    return result


def clipped_logit(p: Floats, clip: float) -> Floats:
    """Return ``ln(p / (1 - p))`` of probabilities clipped to ``[clip, 1 - clip]``.

    Returns
    -------
    ndarray of float, as `p`
        Finite for a `clip` above 0 and below 1/2.

    Examples
    --------
    >>> clipped_logit(np.array([0.0, 0.5, 1.0]), 0.01).round(4).tolist()
    [-4.5951, 0.0, 4.5951]
    """
    clipped = np.minimum(np.maximum(p, clip), 1.0 - clip)
    result: Floats = np.log(clipped / (1.0 - clipped))
    return result
