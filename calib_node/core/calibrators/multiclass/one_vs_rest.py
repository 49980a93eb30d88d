# SPDX-License-Identifier: Apache-2.0
"""One binary calibrator per class."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.base import Calibrator
from calib_node.core.calibrators.multiclass.base import (
    Floats,
    MulticlassCalibrator,
    by_class,
    normalised,
)
from calib_node.core.calibrators.parameters import Parameter
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.refusal import brief
from calib_node.core.state.fields import StateError


class OneVsRest(MulticlassCalibrator):
    """One binary calibrator per class, and the outputs renormalised to sum 1.

    Parameters
    ----------
    calibrators : sequence of Calibrator
        One for each class, all of one method and of the same parameters, but for a seed, which
        rises by 1 from class to class. They are the instance's own from then on.

    References
    ----------
    Zadrozny and Elkan, *Transforming classifier scores into accurate multiclass probability
    estimates*, KDD 2002, Section 5.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> calibrator = OneVsRest([create('identity') for _ in range(3)])
    >>> calibrator.update([0.5, 0.3, 0.2], 2)
    >>> calibrator.predict([0.5, 0.3, 0.2]).tolist(), calibrator.updates
    ([0.5, 0.3, 0.2], 1)
    """

    def __init__(self, calibrators: Sequence[Calibrator]) -> None:
        super().__init__(len(calibrators))
        self._calibrators = list(calibrators)
        self.name = self._calibrators[0].name  # type: ignore[misc]

    def predict(self, p: ArrayLike) -> Floats:
        """Return the calibrated probabilities of `p`, shape (K,), and keep nothing."""
        array = self._checked(p)
        q = np.array([binary.predict(x) for binary, x in zip(self._calibrators, array.tolist())])
        return normalised(q, array)

    def issue(self, p: ArrayLike) -> tuple[Floats, list[Any]]:
        """Return the calibrated probabilities of `p` and the tickets of the classes."""
        array = self._checked(p)
        pairs = [binary.issue(x) for binary, x in zip(self._calibrators, array.tolist())]
        q = np.array([pair[0] for pair in pairs])
        return normalised(q, array), [pair[1] for pair in pairs]

    def update(self, p: ArrayLike, label: int, ticket: list[Any] | None = None) -> None:
        """Learn from the outcome `label` of the forecast made of `p`.

        Raises
        ------
        ValueError
            If `p` is not K probabilities or `label` is not a class index.
        UpdateNotFinite
            If the update of a class would not be finite; no class has changed then.
        """
        values, index = self._checked(p).tolist(), self._checked_label(label)
        tickets = [None] * self._classes if ticket is None else ticket
        if len(tickets) != self._classes:
            raise UpdateNotFinite(f'the ticket is of {len(tickets)} classes, not {self._classes}')
        marks: list[Any] = []
        try:
            for binary, own in zip(self._calibrators, tickets):
                marks.append(binary._mark(own))
        except UpdateNotFinite as error:
            raise UpdateNotFinite(f'of class {len(marks)}: {error}') from error
        k = 0
        try:
            for k, binary in enumerate(self._calibrators):
                binary.update(values[k], int(k == index), tickets[k])
        except Exception as error:
            for binary, mark in zip(self._calibrators[:k], marks):
                binary._go_back(mark)
            if isinstance(error, UpdateNotFinite):
                raise UpdateNotFinite(f'of class {k}: {error}') from error
            raise
        self._updates += 1

    def figures(self) -> dict[str, float]:
        """Return the figures of the binary calibrators by class, and the number of updates."""
        each = [binary.figures() for binary in self._calibrators]
        own = {name: [of[name] for of in each] for name in each[0] if name != 'updates'}
        return {**by_class(own), **super().figures()}

    def reset(self) -> None:
        """Forget everything learned."""
        for binary in self._calibrators:
            binary.reset()
        self._updates = 0

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the first class."""
        return self._calibrators[0].parameters()

    def _configure(self, values: dict[str, Any]) -> None:
        now = self.parameters()
        changed = {name: value for name, value in values.items() if value != now[name]}
        calibrators = deepcopy(self._calibrators)
        for k, binary in enumerate(calibrators):
            binary.configure(**for_class(changed, k))
        self._calibrators = calibrators

    def _learned(self) -> dict[str, Any]:
        return {'calibrators': [binary.state() for binary in self._calibrators]}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        states = state.get('calibrators')
        if not isinstance(states, list) or len(states) != self._classes:
            raise StateError(f'calibrators must be a list of {self._classes}, not {brief(states)}')
        calibrators = deepcopy(self._calibrators)
        for k, (binary, own) in enumerate(zip(calibrators, states)):
            if not isinstance(own, dict):
                raise StateError(f'the state of class {k} must be a table, not {brief(own)}')
            try:
                binary.restore(own)
            except StateError as error:
                raise StateError(f'in the state of class {k}, {error}') from None
            if binary.updates != updates:
                raise StateError(f'class {k} has {binary.updates} updates of {updates}')
        self._calibrators = calibrators


def for_class(parameters: dict[str, Any], index: int) -> dict[str, Any]:
    """Return the parameters of one class of many: a seed of its own, the rest shared."""
    if 'seed' in parameters:
        return {**parameters, 'seed': (parameters['seed'] + index) % 2**32}
    return parameters
