# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling that learns online, of a binary classifier."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, ClassVar

from calib_node.core.calibrators.base import Calibrator, as_probabilities, as_probability
from calib_node.core.calibrators.newton_learner import NewtonLearner
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.numerics.sigmoid import clipped_logit, residual, sigmoid, sigmoids
from calib_node.core.ranges import POSITIVE
from calib_node.core.refusal import bad_probability
from calib_node.core.samples import Floats
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

LOWEST_BETA = 1e-3
"""The inverse temperature stays above 0, so that the order of probabilities never changes."""


class TemperatureLearner(NewtonLearner):
    """The inverse temperature beta = 1 / T, learned by Online Newton Step in one dimension.

    Parameters
    ----------
    gamma, rho, radius, clip, forgetting : float
        As of `OnlinePlattScaling`; beta is kept within ``[LOWEST_BETA, radius]``.
    """

    @property
    def beta(self) -> float:
        """The inverse temperature."""
        return self._state[0]

    @property
    def temperature(self) -> float:
        """T; above 1 the forecasts become less sure."""
        return 1.0 / self._state[0]

    def figures(self) -> dict[str, float]:
        """Return the temperature and the number of updates."""
        return {'temperature': self.temperature, **super().figures()}

    def reset(self) -> None:
        """Go back to T = 1."""
        self._state: tuple[float, float] = _within(1.0, self._radius), self._rho
        self._updates = 0

    def _learn(self, gradient: float) -> None:
        """Take one Newton step against the derivative of the log-loss in beta."""
        beta, curvature = self._state
        kept = self._forgetting
        curvature = kept * curvature + (1.0 - kept) * self._rho + gradient * gradient
        beta -= gradient / (self._gamma * curvature)
        total = beta + curvature
        if total - total != 0.0:
            raise UpdateNotFinite('the update gives a number that is not finite')
        self._state = _within(beta, self._radius), curvature
        self._updates += 1

    def _learned(self) -> dict[str, Any]:
        beta, matrix = self._state
        return {'beta': beta, 'A': matrix}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        beta, matrix = fields.finite(state, 'beta', POSITIVE), fields.finite(state, 'A', POSITIVE)
        if beta > parameters['radius'] * (1.0 + 1e-9):
            raise StateError(f'beta {beta!r} is outside its own radius {parameters["radius"]!r}')
        if matrix < parameters['rho'] * (1.0 - 1e-9):
            raise StateError(f'A {matrix!r} is below its own rho {parameters["rho"]!r}')
        learned = (beta, matrix)
        self._state = self._adapted(learned, parameters['rho'], self._rho, self._radius)

    @staticmethod
    def _adapted(
        state: tuple[float, float], before: float, rho: float, radius: float
    ) -> tuple[float, float]:
        beta, matrix = state
        # A is rho and squares, but rounding may leave less of a small rho beside a large one.
        return min(beta, radius), max(matrix + (rho - before), rho)


def _within(beta: float, radius: float) -> float:
    """Return an inverse temperature kept within ``[LOWEST_BETA, radius]``."""
    return min(max(beta, LOWEST_BETA), radius)


class OnlineTemperature(TemperatureLearner, Calibrator):
    """Calibrates by ``sigmoid(logit(p) / T)``, T learned online.

    The two-class case of temperature scaling: it makes forecasts more or less sure and leaves 0.5
    where it is.

    Parameters
    ----------
    gamma : float
        Inverse step size of the Newton step.
    rho : float
        The curvature starts from it; larger is slower at the start.
    radius : float
        The inverse temperature is kept from `LOWEST_BETA` to this.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit.
    forgetting : float
        Share of the curvature above rho kept at each update; below 1 the map follows a change.

    References
    ----------
    Guo et al., *On calibration of modern neural networks*, ICML 2017, Section 4.2 (the map).
    Hazan, Agarwal and Kale, *Logarithmic regret algorithms for online convex optimization*,
    Machine Learning 69, 2007 (the step). Both together are not in either.

    Examples
    --------
    >>> calibrator = OnlineTemperature()
    >>> calibrator.update(0.8, 0)
    >>> round(calibrator.temperature, 6), round(calibrator.predict(0.8), 6)
    (1.123035, 0.774591)
    """

    name: ClassVar[str] = 'temperature'

    def __init__(
        self,
        gamma: float = 0.1,
        rho: float = 100.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
    ) -> None:
        super().__init__(gamma=gamma, rho=rho, radius=radius, clip=clip, forgetting=forgetting)

    def issue(self, p: float) -> tuple[float, float]:
        """Return the calibrated probability of `p` and its ticket, the clipped logit of `p`."""
        if type(p) is not float or not 0.0 <= p <= 1.0:
            p = as_probability(p)
        p = min(max(p, self._low), self._high)
        logit = log(p / (1.0 - p))
        return sigmoid(self._state[0] * logit), logit

    def issue_many(self, p: Floats, contexts: Sequence[Any] = ()) -> tuple[Floats, Sequence[Any]]:
        """Return the calibrated probabilities of many `p` and their tickets, as `issue` does."""
        logits = clipped_logit(as_probabilities(p), self._low)
        return sigmoids(self._state[0] * logits), logits.tolist()

    def update(self, p: float, y: int, ticket: float | None = None) -> None:
        """Learn from the outcome `y` of the forecast made of `p`."""
        if ticket is None:
            ticket = self.issue(p)[1]
        elif not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        self._learn(residual(self._state[0] * ticket, y) * ticket)
