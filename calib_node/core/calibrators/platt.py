# SPDX-License-Identifier: Apache-2.0
"""Online Platt Scaling."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, log
from typing import Any, ClassVar

from calib_node.core.calibrators.base import Calibrator, as_probabilities, as_probability
from calib_node.core.calibrators.newton_learner import NewtonLearner, not_positive_definite
from calib_node.core.numerics.newton import (
    Newton2,
    is_positive_definite,
    newton_step,
    project,
)
from calib_node.core.numerics.sigmoid import clipped_logit, residual, sigmoid, sigmoids
from calib_node.core.refusal import bad_probability
from calib_node.core.samples import Floats
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


class OnlinePlattScaling(NewtonLearner, Calibrator):
    """Calibrates by ``sigmoid(a logit(p) + b)``, (a, b) learned by Online Newton Step.

    Parameters
    ----------
    gamma : float
        Inverse step size of the Newton step.
    rho : float
        The matrix `A` starts from ``rho I``; larger is slower at the start.
    radius : float
        (a, b) is kept in the ball of this radius.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit.
    forgetting : float
        Share of ``A - rho I`` kept at each update. 1 is the method of the paper; below 1 the map
        follows a change in the same number of samples however long it has run.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070,
    Section 2 and Algorithm 2. Forgetting is not in the paper.

    Examples
    --------
    >>> calibrator = OnlinePlattScaling()
    >>> calibrator.predict(0.8)
    0.8
    >>> calibrator.update(0.8, 0)
    >>> round(calibrator.a, 8), round(calibrator.b, 8)
    (0.89113223, -0.07853149)
    >>> round(calibrator.predict(0.8), 8)
    0.76075807
    """

    name: ClassVar[str] = 'ops'

    def __init__(
        self,
        gamma: float = 0.1,
        rho: float = 100.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
    ) -> None:
        super().__init__(gamma=gamma, rho=rho, radius=radius, clip=clip, forgetting=forgetting)

    @property
    def a(self) -> float:
        """Slope of the map on the logit."""
        return self._state[0]

    @property
    def b(self) -> float:
        """Intercept of the map on the logit."""
        return self._state[1]

    @property
    def A(self) -> list[list[float]]:
        """The 2x2 matrix of the Newton step."""
        _, _, a00, a01, a11 = self._state
        return [[a00, a01], [a01, a11]]

    def figures(self) -> dict[str, float]:
        """Return a, b and the number of updates."""
        return {'a': self.a, 'b': self.b, **super().figures()}

    def reset(self) -> None:
        """Go back to the identity map, (a, b) = (1, 0)."""
        self._state: Newton2 = (1.0, 0.0, self._rho, 0.0, self._rho)
        self._updates = 0

    def issue(self, p: float) -> tuple[float, float]:
        """Return the calibrated probability of `p` and its ticket, the clipped logit of `p`."""
        if type(p) is not float or not 0.0 <= p <= 1.0:
            p = as_probability(p)
        if p < self._low:
            p = self._low
        elif p > self._high:
            p = self._high
        logit = log(p / (1.0 - p))
        a, b, _, _, _ = self._state
        return sigmoid(a * logit + b), logit

    def issue_many(self, p: Floats, contexts: Sequence[Any] = ()) -> tuple[Floats, Sequence[Any]]:
        """Return the calibrated probabilities of many `p` and their tickets, as `issue` does."""
        logits = clipped_logit(as_probabilities(p), self._low)
        return sigmoids(self.a * logits + self.b), logits.tolist()

    def update(self, p: float, y: int, ticket: float | None = None) -> None:
        """Learn from the outcome `y` of the forecast made of `p`."""
        if ticket is None:
            ticket = self.issue(p)[1]
        elif not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        state = self._state
        error = residual(state[0] * ticket + state[1], y)
        self._state = newton_step(
            state, error * ticket, error, self._gamma, self._rho, self._radius, self._forgetting
        )
        self._updates += 1

    def _learned(self) -> dict[str, Any]:
        return {'a': self.a, 'b': self.b, 'A': self.A}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        a, b = fields.finite(state, 'a'), fields.finite(state, 'b')
        (a00, a01), (_, a11) = fields.positive_definite(state, 'A', 2)
        if updates == 0 and (a, b) == (1.0, 0.0):
            # The start may lie outside a radius below 1; the first step brings it in.
            self.reset()
            return
        radius = parameters['radius']
        if hypot(a, b) > radius * (1.0 + 1e-9):
            raise StateError(f'(a, b) = ({a!r}, {b!r}) is outside its own radius {radius!r}')
        learned = (a, b, a00, a01, a11)
        self._state = self._adapted(learned, parameters['rho'], self._rho, self._radius)

    @staticmethod
    def _adapted(state: Newton2, before: float, rho: float, radius: float) -> Newton2:
        a, b, a00, a01, a11 = state
        change = rho - before
        a00, a11 = a00 + change, a11 + change
        if not is_positive_definite(a00, a01, a11):
            raise StateError(not_positive_definite(change))
        if hypot(a, b) > radius * (1.0 + 1e-9):
            a, b = project(a, b, a00, a01, a11, radius)
        return a, b, a00, a01, a11
