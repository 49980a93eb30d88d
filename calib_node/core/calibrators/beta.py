# SPDX-License-Identifier: Apache-2.0
"""Online Beta Scaling."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, log
from typing import Any, ClassVar

import numpy as np

from calib_node.core.calibrators.base import Calibrator, as_probabilities, as_probability
from calib_node.core.calibrators.newton_learner import NewtonLearner, not_positive_definite
from calib_node.core.numerics.newton import Newton3, newton_step3, project3
from calib_node.core.numerics.sigmoid import residual, sigmoid, sigmoids
from calib_node.core.refusal import bad_probability
from calib_node.core.samples import Floats
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


class OnlineBetaScaling(NewtonLearner, Calibrator):
    """Calibrates by ``sigmoid(a ln(p) - b ln(1 - p) + c)``, learned by Online Newton Step.

    The map of beta calibration, with the names and signs it has there. It starts from the
    identity, (1, 1, 0). With a = b it is Platt scaling; apart they bend the two ends of [0, 1]
    separately.

    Parameters
    ----------
    gamma : float
        Inverse step size of the Newton step.
    rho : float
        The matrix `A` starts from ``rho I``; larger is slower at the start.
    radius : float
        (a, b, c) is kept in the ball of this radius.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logarithms.
    forgetting : float
        Share of ``A - rho I`` kept at each update. 1 is the method of the paper; below 1 the map
        follows a change in the same number of samples however long it has run.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070,
    Section 4, with the Newton step of Algorithm 2. Kull, Silva Filho and Flach, *Beta
    calibration: a well-founded and easily implemented improvement on logistic calibration for
    binary classifiers*, AISTATS 2017. Forgetting is in neither.

    Examples
    --------
    >>> calibrator = OnlineBetaScaling()
    >>> round(calibrator.predict(0.8), 8)
    0.8
    >>> calibrator.update(0.8, 0)
    >>> round(calibrator.a, 8), round(calibrator.b, 8), round(calibrator.c, 8)
    (1.0653191, 0.52888157, -0.29272234)
    >>> round(calibrator.predict(0.95), 8)
    0.77504514
    """

    name: ClassVar[str] = 'beta'

    def __init__(
        self,
        gamma: float = 0.1,
        rho: float = 25.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
    ) -> None:
        super().__init__(gamma=gamma, rho=rho, radius=radius, clip=clip, forgetting=forgetting)

    @property
    def a(self) -> float:
        """Weight of ``ln(p)``."""
        return self._state[0]

    @property
    def b(self) -> float:
        """Weight of ``-ln(1 - p)``."""
        return self._state[1]

    @property
    def c(self) -> float:
        """Intercept."""
        return self._state[2]

    @property
    def A(self) -> list[list[float]]:
        """The 3x3 matrix of the Newton step for (a, b, c)."""
        _, _, _, a00, a01, a02, a11, a12, a22 = self._state
        return [[a00, a01, a02], [a01, a11, a12], [a02, a12, a22]]

    def figures(self) -> dict[str, float]:
        """Return a, b, c and the number of updates."""
        return {'a': self.a, 'b': self.b, 'c': self.c, **super().figures()}

    def reset(self) -> None:
        """Go back to the identity map, (a, b, c) = (1, 1, 0)."""
        rho = self._rho
        self._state: Newton3 = (1.0, 1.0, 0.0, rho, 0.0, 0.0, rho, 0.0, rho)
        self._updates = 0

    def issue(self, p: float) -> tuple[float, tuple[float, float]]:
        """Return the calibrated probability of `p` and its ticket, ``(ln p, -ln(1 - p))``."""
        if type(p) is not float or not 0.0 <= p <= 1.0:
            p = as_probability(p)
        if p < self._low:
            p = self._low
        elif p > self._high:
            p = self._high
        u0, u1 = log(p), -log(1.0 - p)
        state = self._state
        return sigmoid(state[0] * u0 + state[1] * u1 + state[2]), (u0, u1)

    def issue_many(self, p: Floats, contexts: Sequence[Any] = ()) -> tuple[Floats, Sequence[Any]]:
        """Return the calibrated probabilities of many `p` and their tickets, as `issue` does."""
        p = np.minimum(np.maximum(as_probabilities(p), self._low), self._high)
        u0, u1 = np.log(p), -np.log(1.0 - p)
        z = self.a * u0 + self.b * u1 + self.c
        return sigmoids(z), list(zip(u0.tolist(), u1.tolist(), strict=True))

    def update(self, p: float, y: int, ticket: tuple[float, float] | None = None) -> None:
        """Learn from the outcome `y` of the forecast made of `p`."""
        if ticket is None:
            ticket = self.issue(p)[1]
        elif not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        u0, u1 = ticket
        state = self._state
        error = residual(state[0] * u0 + state[1] * u1 + state[2], y)
        self._state = newton_step3(
            state,
            error * u0,
            error * u1,
            error,
            self._gamma,
            self._rho,
            self._radius,
            self._forgetting,
        )
        self._updates += 1

    def _learned(self) -> dict[str, Any]:
        return {'a': self.a, 'b': self.b, 'c': self.c, 'A': self.A}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        a, b, c = (fields.finite(state, name) for name in ('a', 'b', 'c'))
        (a00, a01, a02), (_, a11, a12), (_, _, a22) = fields.positive_definite(state, 'A', 3)
        if updates == 0 and (a, b, c) == (1.0, 1.0, 0.0):
            # The start may lie outside a radius below √2; the first step brings it in.
            self.reset()
            return
        radius = parameters['radius']
        if hypot(a, b, c) > radius * (1.0 + 1e-9):
            raise StateError(
                f'(a, b, c) = ({a!r}, {b!r}, {c!r}) is outside its own radius {radius!r}'
            )
        learned = (a, b, c, a00, a01, a02, a11, a12, a22)
        self._state = self._adapted(learned, parameters['rho'], self._rho, self._radius)

    @staticmethod
    def _adapted(state: Newton3, before: float, rho: float, radius: float) -> Newton3:
        a, b, c, a00, a01, a02, a11, a12, a22 = state
        change = rho - before
        a00, a11, a22 = a00 + change, a11 + change, a22 + change
        if not fields.is_positive_definite([[a00, a01, a02], [a01, a11, a12], [a02, a12, a22]]):
            raise StateError(not_positive_definite(change))
        if hypot(a, b, c) > radius * (1.0 + 1e-9):
            a, b, c = project3(a, b, c, a00, a01, a02, a11, a12, a22, radius)
        return a, b, c, a00, a01, a02, a11, a12, a22
