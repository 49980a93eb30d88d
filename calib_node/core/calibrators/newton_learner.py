# SPDX-License-Identifier: Apache-2.0
"""What everything that learns by Online Newton Step has in common."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any

from calib_node.core.calibrators.base import Learner
from calib_node.core.calibrators.parameters import Parameter, check_parameters


class NewtonLearner(Learner):
    """Learns by Online Newton Step: gamma, rho, radius, clip and forgetting.

    Parameters
    ----------
    gamma, rho, radius, forgetting : float
        As of `newton_step`.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the features are made of it.
    """

    _state: Any
    """What was learned. A step puts another in its place and never changes it."""

    def __init__(self, **parameters: Parameter) -> None:
        self._set(check_parameters(parameters))
        self.reset()

    def _set(self, values: dict[str, Any]) -> None:
        """Take over all parameters, checked."""
        self._gamma, self._rho, self._radius = values['gamma'], values['rho'], values['radius']
        self._low, self._high = values['clip'], 1.0 - values['clip']
        self._forgetting = values['forgetting']

    def parameters(self) -> dict[str, Parameter]:
        """Return gamma, rho, radius, clip and forgetting."""
        return {
            'gamma': self._gamma,
            'rho': self._rho,
            'radius': self._radius,
            'clip': self._low,
            'forgetting': self._forgetting,
        }

    def _configure(self, values: dict[str, Any]) -> None:
        """Take over new parameters.

        A new `rho` adds ``(new - old) I`` to `A`, which gives the `A` it would have had for the
        same gradients; a smaller `radius` projects the parameters of the map at once.
        """
        radius = values['radius']
        state = self._adapted(
            self._state, self._rho, values['rho'], radius if radius < self._radius else inf
        )
        self._set(values)
        self._state = state

    @staticmethod
    @abstractmethod
    def _adapted(state: Any, before: float, rho: float, radius: float) -> Any:
        """Return `state`, learned with the rho `before`, as it would be with another.

        Raises
        ------
        StateError
            If `A` would not stay positive definite.
        """

    def _mark(self, ticket: Any) -> tuple[Any, int]:
        return self._state, self._updates

    def _go_back(self, mark: tuple[Any, int]) -> None:
        self._state, self._updates = mark


def not_positive_definite(change: float) -> str:
    """Return the sentence for a matrix that a change of rho would spoil."""
    return f'A would not stay positive definite when rho changes by {change:g}'
