# SPDX-License-Identifier: Apache-2.0
"""No calibration, as a method of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from calib_node.core.calibrators.base import Calibrator, as_probabilities, as_probability
from calib_node.core.calibrators.parameters import Parameter
from calib_node.core.refusal import bad_label, bad_probability
from calib_node.core.samples import Floats


class Identity(Calibrator):
    """Returns `p` as it is: what calibration is measured against.

    Examples
    --------
    >>> Identity().predict(0.999)
    0.999
    """

    name: ClassVar[str] = 'identity'

    def issue(self, p: float) -> tuple[float, None]:
        """Return `p` and no ticket."""
        if type(p) is not float or not 0.0 <= p <= 1.0:
            p = as_probability(p)
        return p, None

    def issue_many(self, p: Floats, contexts: Sequence[Any] = ()) -> tuple[Floats, Sequence[Any]]:
        """Return the calibrated probabilities of many `p` and their tickets, as `issue` does."""
        return as_probabilities(p).copy(), [None] * len(p)

    def update(self, p: float, y: int, ticket: None = None) -> None:
        """Count the label."""
        if not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        if y not in (0, 1):
            raise bad_label(y)
        self._updates += 1

    def reset(self) -> None:
        """Forget the count."""
        self._updates = 0

    def parameters(self) -> dict[str, Parameter]:
        """Return an empty dict."""
        return {}

    def _configure(self, values: dict[str, Any]) -> None:
        pass

    def _learned(self) -> dict[str, Any]:
        return {}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        pass
