# SPDX-License-Identifier: Apache-2.0
"""The parameters of everything that learns by Online Newton Step."""

from __future__ import annotations

from typing import Any

from calib_node.core.calibrators.base import Learner
from calib_node.core.calibrators.parameters import Parameter


class NewtonLearner(Learner):
    """Learns by Online Newton Step: gamma, rho, radius, clip and forgetting.

    Parameters
    ----------
    gamma, rho, radius, forgetting : float
        As of `newton_step`.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the features are made of it.
    """

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
