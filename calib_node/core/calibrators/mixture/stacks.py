# SPDX-License-Identifier: Apache-2.0
"""The stacks of the mixture, as they are saved."""

from __future__ import annotations

from math import hypot, sqrt
from typing import Any

import numpy as np

from calib_node.core.numerics.newton_logistic import RADIUS, NewtonLogistic
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


class Stacks(NewtonLogistic):
    """Online logistic regressions on what other experts forecast, saved and restored."""

    def state(self) -> dict[str, Any]:
        """Return the parameters of each regression and the square root of P, transposed."""
        return {'parameters': self.parameters.tolist(), 'root': self.root.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        size = len(self._start)
        parameters = np.array(fields.rows(state, 'parameters', (len(self._gammas), size)))
        root = np.array(fields.rows(state, 'root', (size, size)))
        if max(hypot(*row) for row in parameters.tolist()) > RADIUS * (1.0 + 1e-9):
            raise StateError(f'parameters must be within the norm {RADIUS:g}')
        if not float(np.abs(root).max()) <= 1.0 / sqrt(self._rho) * (1.0 + 1e-9):
            raise StateError('root must not be larger than the one it started from')
        self._matrix = np.vstack([root, parameters])
