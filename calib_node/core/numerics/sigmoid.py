# SPDX-License-Identifier: Apache-2.0
"""The logistic function, and how far it is from a label, without overflow or lost digits."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from calib_node.core.refusal import bad_label

# exp overflows a double just above this.
LARGEST_EXPONENT = 709.0
SMALLEST_SIGMOID = 1.0 / (1.0 + exp(LARGEST_EXPONENT))


def sigmoid(z: float) -> float:
    """Return ``1 / (1 + exp(-z))``.

    The one formula on both sides of 0 is monotone in floats too, which ``exp / (1 + exp)`` on one
    of them is not.

    Examples
    --------
    >>> sigmoid(0.0), sigmoid(1e6)
    (0.5, 1.0)
    """
    return 1.0 / (1.0 + exp(-z)) if z > -LARGEST_EXPONENT else SMALLEST_SIGMOID


def residual(z: float, y: int) -> float:
    """Return ``sigmoid(z) - y``, the derivative of the log-loss in `z`.

    ``1 - sigmoid(z)`` is taken as ``sigmoid(-z)``, so that no digits are lost near 1.

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
        return 1.0 / (1.0 + exp(-z)) if z > -LARGEST_EXPONENT else SMALLEST_SIGMOID
    if y == 1:
        return -1.0 / (1.0 + exp(z)) if z < LARGEST_EXPONENT else -SMALLEST_SIGMOID
    raise bad_label(y)


def sigmoids(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sigmoid of each number of an array."""
    result: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.maximum(z, -LARGEST_EXPONENT)))
    return result
