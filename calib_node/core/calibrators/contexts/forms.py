# SPDX-License-Identifier: Apache-2.0
"""The methods that take offsets of contexts: their features and their Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.core.calibrators.temperature import LOWEST_BETA
from calib_node.core.numerics.newton import (
    UpdateNotFinite,
    newton_step,
    newton_step3,
    project,
    project3,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """How a method that learns by Newton steps makes its logit.

    Attributes
    ----------
    size : int
        Number of parameters that all contexts share, d.
    features : callable
        The d features of a probability that has been clipped; the logit is their product with the
        parameters.
    features_many : callable
        The same of an array, shape (n, d).
    step : callable
        Newton step of ``(theta, upper triangle of the matrix)`` against a gradient, with gamma
        and radius.
    project : callable
        The parameters and the matrix's upper triangle to parameters within a radius.
    """

    size: int
    features: Callable[[float], tuple[float, ...]]
    features_many: Callable[[Floats], Floats]
    step: Callable[..., tuple[float, ...]]
    project: Callable[..., tuple[float, ...]]


# What is forgotten is forgotten before the step, of the offsets too; so rho is of no account.


def _step2(state: Any, g: list[float], gamma: float, radius: float) -> tuple[float, ...]:
    return newton_step(state, g[0], g[1], gamma, 0.0, radius, 1.0)


def _step3(state: Any, g: list[float], gamma: float, radius: float) -> tuple[float, ...]:
    return newton_step3(state, g[0], g[1], g[2], gamma, 0.0, radius, 1.0)


def _step1(state: Any, g: list[float], gamma: float, radius: float) -> tuple[float, float]:
    matrix = state[1] + g[0] * g[0]
    beta = state[0] - g[0] / (gamma * matrix)
    total = beta + matrix
    if total - total != 0.0:
        raise UpdateNotFinite('the update gives a number that is not finite')
    return _project1(beta, matrix, radius)[0], matrix


def _project1(beta: float, matrix: float, radius: float) -> tuple[float]:
    return (min(max(beta, LOWEST_BETA), radius),)


def _logits(p: Floats) -> Floats:
    logits: Floats = np.log(p / (1.0 - p))
    return logits


PLATT = Form(
    2,
    lambda p: (log(p / (1.0 - p)), 1.0),
    lambda p: np.stack([_logits(p), np.ones(len(p))], axis=1),
    _step2,
    project,
)
BETA = Form(
    3,
    lambda p: (log(p), -log(1.0 - p), 1.0),
    lambda p: np.stack([np.log(p), -np.log(1.0 - p), np.ones(len(p))], axis=1),
    _step3,
    project3,
)
TEMPERATURE = Form(
    1,
    lambda p: (log(p / (1.0 - p)),),
    lambda p: _logits(p)[:, np.newaxis],
    _step1,
    _project1,
)

FORMS = {'ops': PLATT, 'beta': BETA, 'temperature': TEMPERATURE}
"""By the name of the method."""

OF_CLASSES = Form(
    1,
    lambda p: (1.0,),
    lambda p: np.ones((len(p), 1)),
    _step1,
    _project1,
)
"""Of the inverse temperature of many classes, which a context adds its own part to."""


@cache
def triangle(size: int) -> tuple[tuple[int, int], ...]:
    """Return the places of an upper triangle, row by row.

    Examples
    --------
    >>> triangle(2)
    ((0, 0), (0, 1), (1, 1))
    """
    return tuple((i, j) for i in range(size) for j in range(i, size))
