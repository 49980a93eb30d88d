# SPDX-License-Identifier: Apache-2.0
"""Online Platt Scaling of K classes at once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.calibrators.multiclass.base import (
    Floats,
    MulticlassCalibrator,
    by_class,
    normalised,
    one_vs_rest_clip,
)
from calib_node.core.calibrators.newton_learner import NewtonLearner, not_positive_definite
from calib_node.core.numerics.newton import UpdateNotFinite, project
from calib_node.core.numerics.sigmoid import clipped_logit, sigmoids
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


class MulticlassPlattScaling(NewtonLearner, MulticlassCalibrator):
    """One-vs-rest of `OnlinePlattScaling`, the classes side by side in arrays.

    Parameters
    ----------
    classes : int
        K, from 2 to 1000.
    gamma, rho, radius, clip, forgetting : float
        As of `OnlinePlattScaling`. `clip` is ``0.01 / K`` if not given: of many classes most have
        a p near 0, and raised to 0.01 they would together take what the likely class has.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070
    (the binary method). Zadrozny and Elkan, *Transforming classifier scores into accurate
    multiclass probability estimates*, KDD 2002, Section 5 (one-vs-rest).

    Examples
    --------
    >>> calibrator = MulticlassPlattScaling(3)
    >>> calibrator.update([0.8, 0.1, 0.1], 1)
    >>> calibrator.predict([0.8, 0.1, 0.1]).round(6).tolist()
    [0.752795, 0.153319, 0.093886]
    """

    name: ClassVar[str] = 'ops'

    def __init__(
        self,
        classes: int,
        gamma: float = 0.1,
        rho: float = 100.0,
        radius: float = 100.0,
        clip: float | None = None,
        forgetting: float = 1.0,
    ) -> None:
        MulticlassCalibrator.__init__(self, classes)
        if clip is None:
            clip = one_vs_rest_clip(0.01, self._classes)
        NewtonLearner.__init__(
            self, gamma=gamma, rho=rho, radius=radius, clip=clip, forgetting=forgetting
        )

    @property
    def a(self) -> Floats:
        """Slope of each class on the logit, shape (K,)."""
        return np.array(self._state[0])

    @property
    def b(self) -> Floats:
        """Intercept of each class, shape (K,)."""
        return np.array(self._state[1])

    @property
    def A(self) -> Floats:
        """The matrix of the Newton step of each class, shape (K, 2, 2)."""
        _, _, a00, a01, a11 = self._state
        return np.stack([a00, a01, a01, a11], axis=1).reshape(-1, 2, 2)

    def figures(self) -> dict[str, float]:
        """Return a and b by class and the number of updates."""
        return {**by_class({'a': self.a.tolist(), 'b': self.b.tolist()}), **super().figures()}

    def reset(self) -> None:
        """Go back to (a, b) = (1, 0) for each class."""
        start = np.array([1.0, 0.0, self._rho, 0.0, self._rho])
        # Rows a, b, A00, A01, A11; one column per class.
        self._state: Floats = np.repeat(start[:, np.newaxis], self._classes, axis=1)
        self._updates = 0

    def issue(self, p: ArrayLike) -> tuple[Floats, Floats]:
        """Return the calibrated probabilities of `p` and its ticket, the clipped logits."""
        array = self._checked(p)
        logits = clipped_logit(array, self._low)
        return normalised(sigmoids(self._state[0] * logits + self._state[1]), array), logits

    def update(self, p: ArrayLike, label: int, ticket: Floats | None = None) -> None:
        """Learn from the outcome `label` of the forecast made of `p`."""
        array, index = self._checked(p), self._checked_label(label)
        logits = clipped_logit(array, self._low) if ticket is None else ticket
        t0, t1, a00, a01, a11 = self._state
        # As `residual`, class by class.
        away = t0 * logits + t1
        away[index] = -away[index]
        error = sigmoids(away)
        error[index] = -error[index]

        g = error * logits
        if self._forgetting != 1.0:
            floor = (1.0 - self._forgetting) * self._rho
            a00, a11 = self._forgetting * a00 + floor, self._forgetting * a11 + floor
            a01 = self._forgetting * a01
        a00, a01, a11 = a00 + g * g, a01 + g * error, a11 + error * error
        scale = self._gamma * (a00 * a11 - a01 * a01)
        if not scale.min() > 0.0:
            raise UpdateNotFinite('the Newton matrix of a class is no longer positive definite')
        t0 = t0 - (a11 * g - a01 * error) / scale
        t1 = t1 - (a00 * error - a01 * g) / scale
        state = np.stack([t0, t1, a00, a01, a11])
        _project(state, t0 * t0 + t1 * t1 > self._radius * self._radius, self._radius)
        total = float(state.sum())
        if total - total != 0.0:
            raise UpdateNotFinite('the update gives a number that is not finite')
        self._state = state
        self._updates += 1

    def _learned(self) -> dict[str, Any]:
        return {'a': self.a.tolist(), 'b': self.b.tolist(), 'A': self.A.tolist()}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        count = self._classes
        a, b = fields.numbers(state, 'a', count), fields.numbers(state, 'b', count)
        restored = np.array([a, b, *zip(*_matrices(state, count))])
        if updates == 0 and a == [1.0] * count and b == [0.0] * count:
            # The start may lie outside a radius below 1; the first step brings it in.
            self.reset()
            return
        outside = np.hypot(restored[0], restored[1]) > parameters['radius'] * (1.0 + 1e-9)
        if outside.any():
            raise StateError(
                f'(a, b) of class {int(outside.argmax())} is outside its own radius '
                f'{parameters["radius"]!r}'
            )
        self._state = self._adapted(restored, parameters['rho'], self._rho, self._radius)

    @staticmethod
    def _adapted(state: Floats, before: float, rho: float, radius: float) -> Floats:
        change = rho - before
        adapted: Floats = state + np.array([0.0, 0.0, change, 0.0, change])[:, np.newaxis]
        if not _positive_definite(adapted).all():
            raise StateError(not_positive_definite(change))
        _project(adapted, np.hypot(adapted[0], adapted[1]) > radius * (1.0 + 1e-9), radius)
        return adapted


def _matrices(state: dict[str, Any], count: int) -> list[tuple[float, float, float]]:
    """Return the upper triangle of the matrix of each class in a saved state."""
    matrices = state.get('A')
    if not isinstance(matrices, list) or len(matrices) != count:
        raise StateError(f'A must be a list of {count} 2x2 matrices, not {brief(matrices)}')
    triangles = []
    for k, own in enumerate(matrices):
        try:
            (a00, a01), (_, a11) = fields.positive_definite({'A': own}, 'A', 2)
        except StateError as error:
            raise StateError(f'of class {k}, {error}') from None
        triangles.append((a00, a01, a11))
    return triangles


def _positive_definite(state: Floats) -> NDArray[np.bool_]:
    _, _, a00, a01, a11 = state
    positive = (a00 > 0.0) & (a11 > 0.0)
    roots = np.sqrt(np.where(positive, a00, 0.0)) * np.sqrt(np.where(positive, a11, 0.0))
    result: NDArray[np.bool_] = positive & (np.abs(a01) < roots)
    return result


def _project(state: Floats, outside: NDArray[np.bool_], radius: float) -> None:
    """Bring the (a, b) that are outside into the ball, each in the norm of its own matrix."""
    for k in np.flatnonzero(outside).tolist():
        t0, t1, a00, a01, a11 = state[:, k].tolist()
        state[:2, k] = project(t0, t1, a00, a01, a11, radius)
