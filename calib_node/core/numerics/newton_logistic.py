# SPDX-License-Identifier: Apache-2.0
"""Logistic regression online, by Newton steps of several sizes that share one matrix."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.numerics.sigmoid import residual, sigmoid

Floats = NDArray[np.float64]

RADIUS = 100.0
"""Parameters are kept within this norm."""


class NewtonLogistic:
    """Several logistic regressions on one feature vector, which differ in their step size.

    Each steps by ``-P u (sigmoid(v'u) - y) / gamma``, where ``P`` is the inverse of ``rho I`` and
    the Hessians ``q (1 - q) u u'`` of the log-loss so far, q (1 - q) averaged over the
    regressions. One matrix then serves them all.

    Parameters
    ----------
    start : list of float
        Parameters to start from, of length d.
    gammas : tuple of float
        Inverse step size of each regression.
    rho : float
        What ``P`` starts as the inverse of, times the identity.

    Notes
    -----
    Online Newton Step (Hazan, Agarwal and Kale, *Machine Learning* 69, 2007) adds the gradient's
    outer product, ``(q - y)^2 u u'``, in place of the Hessian, which is its expectation where the
    forecast is right; the regret bound is that of the former, and this is a heuristic. ``P`` is
    kept as ``S S'`` and updated by Potter's square root algorithm (Battin, *Astronautical
    Guidance*, 1964), so that no rounding can make it indefinite.
    """

    def __init__(self, start: list[float], gammas: tuple[float, ...], rho: float) -> None:
        self._start, self._gammas, self._rho = start, gammas, rho
        self.reset()

    def reset(self) -> None:
        """Forget everything learned."""
        size = len(self._start)
        # S' and, below it, a row of parameters for each regression: a step changes all of it by
        # one outer product.
        root = np.eye(size) / sqrt(self._rho)
        self._matrix: Floats = np.vstack([root, np.tile(self._start, (len(self._gammas), 1))])

    @property
    def parameters(self) -> Floats:
        """The parameters of each regression, shape (len(gammas), d)."""
        return self._matrix[len(self._start) :]

    @property
    def root(self) -> Floats:
        """The square root of ``P``, transposed, shape (d, d)."""
        return self._matrix[: len(self._start)]

    def forecast(self, u: Floats) -> list[float]:
        """Return the probability that each regression gives for features of shape (d,)."""
        return [sigmoid(z) for z in self._matrix.dot(u)[len(u) :].tolist()]

    def learn(self, u: Floats, y: int) -> None:
        """Learn from a label and the features that its forecast was made of.

        Raises
        ------
        UpdateNotFinite
            If the result would not be finite; nothing has changed then.
        """
        matrix, size = self._matrix, len(u)
        column = matrix.dot(u)
        errors = [residual(z, y) for z in column[size:].tolist()]
        # |error| is q or 1 - q.
        curvature = sum([abs(e) * (1.0 - abs(e)) for e in errors]) / len(errors)
        column[size:] = 0.0
        step = column.dot(matrix)
        scale = 1.0 + curvature * float(column.dot(column))
        column *= curvature / (scale + sqrt(scale))
        column[size:] = [e / (gamma * scale) for e, gamma in zip(errors, self._gammas)]
        matrix = matrix - column.reshape(-1, 1).dot(step.reshape(1, -1))
        parameters = matrix[size:]
        squares = float(np.vdot(parameters, parameters))
        if not squares + scale < np.inf:
            raise UpdateNotFinite('the update gives a number that is not finite')
        if squares > RADIUS * RADIUS:
            norms = np.sqrt(np.sum(parameters * parameters, axis=1, keepdims=True))
            parameters *= np.minimum(1.0, RADIUS / norms)
        self._matrix = matrix
