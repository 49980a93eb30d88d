# SPDX-License-Identifier: Apache-2.0
"""A temperature of K classes for each context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.contexts.forms import OF_CLASSES
from calib_node.core.calibrators.contexts.known import Context
from calib_node.core.calibrators.contexts.multiclass import ContextualClasses
from calib_node.core.calibrators.contexts.offsets import LARGEST_FEATURE, Offsets
from calib_node.core.calibrators.fits.temperature import softmax
from calib_node.core.calibrators.multiclass.base import Floats, MulticlassCalibrator
from calib_node.core.calibrators.multiclass.temperature import MulticlassTemperature
from calib_node.core.calibrators.parameters import Parameter, check_parameters
from calib_node.core.calibrators.temperature import LOWEST_BETA
from calib_node.core.numerics.newton import UpdateNotFinite

Ticket = tuple[Floats, Floats, Context]
"""Logarithms of the probabilities, the forecast and the context."""


class ContextualTemperature(ContextualClasses):
    """Calibrates by ``softmax((beta + offset of the context) z)``, z the logarithms of `p`.

    The likeliest class stays the likeliest: an offset of the logits would be of no use, since it
    is the same for all classes.

    Parameters
    ----------
    shared : MulticlassTemperature
        New. It is the instance's own from then on.
    contexts, context_capacity, context_rho
        As of `OffsetCalibrator`.

    Examples
    --------
    >>> from calib_node.core.calibrators import create_multiclass
    >>> calibrator = create_multiclass('temperature', 3, contexts=('camera',))
    >>> for number in range(400):
    ...     for camera, wrong in ((0, number % 2), (1, 0)):
    ...         q, ticket = calibrator.issue([0.8, 0.1, 0.1], (camera,))
    ...         calibrator.update([0.8, 0.1, 0.1], wrong, ticket)
    >>> [calibrator.predict([0.8, 0.1, 0.1], (k,)).max().round(2).item() for k in (0, 1)]
    [0.5, 1.0]
    """

    def __init__(
        self,
        shared: MulticlassTemperature,
        contexts: Sequence[str],
        context_capacity: int = 200,
        context_rho: float = 100.0,
    ) -> None:
        MulticlassCalibrator.__init__(self, shared.classes)
        own = check_parameters({'context_capacity': context_capacity, 'context_rho': context_rho})
        self._set_up(tuple(contexts), own['context_capacity'], True)
        self.name = shared.name  # type: ignore[misc]
        self._offsets = Offsets(shared, OF_CLASSES, self._known, own['context_rho'])

    @property
    def shared(self) -> Any:
        """The temperature of all contexts; to be looked at alone."""
        return self._offsets.shared

    def figures(self) -> dict[str, float]:
        """Return the shared temperature, and the numbers of updates and of contexts."""
        return {**self.shared.figures(), **super().figures()}

    def reset(self) -> None:
        """Forget everything learned, and all contexts."""
        self.shared.reset()
        self._forget_contexts()
        self._offsets.start(self._known)
        self._updates = 0

    def _beta(self, context: Context) -> float:
        """Return the inverse temperature of a context."""
        beta: float = self.shared.beta + self._offsets.of(context)
        return max(beta, LOWEST_BETA)

    def predict(self, p: ArrayLike, context: Context = ()) -> Floats:
        """Return the calibrated probabilities of `p` in a context and keep nothing."""
        return self.issue(p, context)[0]

    def issue(self, p: ArrayLike, context: Context = ()) -> tuple[Floats, Ticket]:
        """Return the calibrated probabilities of `p` in a context, and the ticket."""
        z = np.log(np.maximum(self._checked(p), self.shared._low))
        q = softmax(self._beta(context), z)
        return q, (z, q, context)

    def issue_many(
        self, values: ArrayLike, contexts: Sequence[Context] | None = None
    ) -> tuple[Floats, list[Ticket]]:
        """Return what `issue` gives for each of many rows, shape (n, K), and their tickets.

        Raises
        ------
        ValueError
            If a row is not K probabilities that sum to 1, or has no context.
        """
        p, each = self._checked_many(values, contexts)
        known = {context: self._beta(context) for context in set(each)}
        z = np.log(np.maximum(p, self.shared._low))
        scaled = z * np.array([known[context] for context in each]).reshape(-1, 1)
        q = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        return q, list(zip(z, q, each))

    def update(
        self, p: ArrayLike, label: int, ticket: Ticket | None = None, context: Context = ()
    ) -> None:
        """Learn from the outcome `label` of the forecast of `p`; `context` is for no ticket."""
        self._checked(p)
        index = self._checked_label(label)
        z, q, context = self.issue(p, context)[1] if ticket is None else ticket
        self._check_issued(q)
        if not (z.min() >= -LARGEST_FEATURE and z.max() <= LARGEST_FEATURE):
            raise UpdateNotFinite('the ticket holds what no forecast was made of')
        forecast = softmax(self._beta(context), z)
        error = float((forecast * (z - z[index])).sum())
        self._offsets.learn((1.0,), error, context)
        self._updates += 1
        self._tally_class(context, q, index)

    def _own_figures(self, place: int) -> tuple[float, None]:
        return self._offsets.at(place), None

    def _context_parameters(self) -> dict[str, Parameter]:
        return {'context_capacity': self._known.capacity, 'context_rho': self._offsets.rho}

    def parameters(self) -> dict[str, Parameter]:
        """Return those of the method, context_capacity and context_rho."""
        return {**self.shared.parameters(), **self._context_parameters()}

    def _configure(self, values: dict[str, Any]) -> None:
        own = {name: values[name] for name in self.shared.parameters()}
        self._offsets.configure(own, values['context_rho'])
        self._known.capacity = values['context_capacity']

    def _learned(self) -> dict[str, Any]:
        learned: dict[str, Any] = self.shared._learned()
        return learned

    def _learned_of_contexts(self) -> dict[str, Any]:
        return self._offsets.state()

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        contexts = state['contexts']
        known, tallies = self._read_contexts(contexts, updates)
        own = {name: parameters[name] for name in self.shared.parameters()}
        self._offsets.restore(
            {**state, 'parameters': own},
            contexts,
            known,
            parameters,
            updates * (2.0 * LARGEST_FEATURE) ** 2,
        )
        self._known, self._tallies = known, tallies
