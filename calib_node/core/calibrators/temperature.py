# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling that learns online, of a binary classifier."""

from __future__ import annotations

from math import log
from typing import Any, ClassVar

from calib_node.core.calibrators.base import Calibrator
from calib_node.core.calibrators.newton_learner import NewtonLearner
from calib_node.core.calibrators.parameters import Parameter, check_parameters
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.numerics.sigmoid import residual, sigmoid
from calib_node.core.ranges import POSITIVE
from calib_node.core.refusal import bad_probability
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

    def __init__(self, **parameters: Parameter) -> None:
        self._set(check_parameters(parameters))
        self.reset()

    @property
    def beta(self) -> float:
        """The inverse temperature."""
        return self._beta

    @property
    def temperature(self) -> float:
        """T; above 1 the forecasts become less sure."""
        return 1.0 / self._beta

    def figures(self) -> dict[str, float]:
        """Return the temperature and the number of updates."""
        return {'temperature': self.temperature, **super().figures()}

    def reset(self) -> None:
        """Go back to T = 1."""
        self._beta, self._A = self._within(1.0), float(self._rho)
        self._updates = 0

    def _within(self, beta: float) -> float:
        bounded: float = min(max(beta, LOWEST_BETA), self._radius)
        return bounded

    def _learn(self, gradient: float) -> None:
        """Take one Newton step against the derivative of the log-loss in beta."""
        curvature = (
            self._forgetting * self._A + (1.0 - self._forgetting) * self._rho + gradient * gradient
        )
        beta = self._beta - gradient / (self._gamma * curvature)
        total = beta + curvature
        if total - total != 0.0:
            raise UpdateNotFinite('the update gives a number that is not finite')
        self._beta, self._A = self._within(beta), curvature
        self._updates += 1

    def _configure(self, values: dict[str, Any]) -> None:
        """Take over new parameters; `rho` and `radius` act as in `OnlinePlattScaling`."""
        before = self._rho
        self._set(values)
        self._take(self._beta, self._A, before)

    def _learned(self) -> dict[str, Any]:
        return {'beta': self._beta, 'A': self._A}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        beta, matrix = fields.finite(state, 'beta', POSITIVE), fields.finite(state, 'A', POSITIVE)
        if beta > parameters['radius'] * (1.0 + 1e-9):
            raise StateError(f'beta {beta!r} is outside its own radius {parameters["radius"]!r}')
        if matrix < parameters['rho'] * (1.0 - 1e-9):
            raise StateError(f'A {matrix!r} is below its own rho {parameters["rho"]!r}')
        self._take(beta, matrix, parameters['rho'])

    def _take(self, beta: float, matrix: float, rho: float) -> None:
        """Take over what was learned with another rho and perhaps another radius."""
        # A is rho and squares, but rounding may leave less of a small rho beside a large one.
        self._A = max(matrix + (self._rho - rho), self._rho)
        self._beta = self._within(beta)


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
        if not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        p = min(max(p, self._low), self._high)
        logit = log(p / (1.0 - p))
        return sigmoid(self._beta * logit), logit

    def update(self, p: float, y: int, ticket: float | None = None) -> None:
        """Learn from the outcome `y` of the forecast made of `p`."""
        if not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        logit = self.issue(p)[1] if ticket is None else ticket
        self._learn(residual(self._beta * logit, y) * logit)
