# SPDX-License-Identifier: Apache-2.0
"""Online Platt, beta and temperature scaling with an offset for each context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.calibrators.base import Calibrator, as_probability
from calib_node.core.calibrators.contexts.contextual import Contextual
from calib_node.core.calibrators.contexts.forms import FORMS
from calib_node.core.calibrators.contexts.known import Context
from calib_node.core.calibrators.contexts.offsets import Offsets
from calib_node.core.calibrators.newton_learner import NewtonLearner
from calib_node.core.calibrators.parameters import Parameter, check_parameters
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.numerics.sigmoid import residual, sigmoid, sigmoids
from calib_node.core.refusal import bad_probability

Ticket = tuple[tuple[float, ...], float, Context]
"""The features, the forecast and the context."""


class OffsetCalibrator(Contextual, Calibrator):
    """Calibrates by the method's own map of `p`, its logit raised by an offset for each context.

    A context with few labels leans on what is shared; none needs a minimum of samples.

    Parameters
    ----------
    shared : NewtonLearner
        Of a method in `FORMS`, new. It is the instance's own from then on.
    contexts : sequence of str
        Names of the context variables. With several of them each value of each has an offset, and
        each combination of values.
    context_capacity : int
        So many contexts have offsets of their own; all others share one.
    context_rho : float
        The diagonal of the Newton matrix starts from it where it is the contexts'; larger is
        slower at the start.
    tallied : bool
        Whether figures of each context are kept.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> calibrator = create('ops', contexts=('class',))
    >>> for _ in range(50):
    ...     for context, y in ((('car',), 1), (('tree',), 0)):
    ...         q, ticket = calibrator.issue(0.6, context)
    ...         calibrator.update(0.6, y, ticket)
    >>> round(calibrator.predict(0.6, ('car',)), 2), round(calibrator.predict(0.6, ('tree',)), 2)
    (0.82, 0.19)
    >>> figures = calibrator.context_figures()['car']
    >>> figures.count, round(figures.offset, 2)
    (50, 1.37)
    """

    def __init__(
        self,
        shared: NewtonLearner,
        contexts: Sequence[str],
        context_capacity: int = 200,
        context_rho: float = 100.0,
        tallied: bool = True,
    ) -> None:
        own = check_parameters({'context_capacity': context_capacity, 'context_rho': context_rho})
        self._set_up(tuple(contexts), own['context_capacity'], tallied)
        self.name = shared.name  # type: ignore[misc]
        self._offsets = Offsets(shared, FORMS[self.name], self._known, own['context_rho'])

    @property
    def shared(self) -> NewtonLearner:
        """What all contexts share; to be looked at alone."""
        return self._offsets.shared

    def figures(self) -> dict[str, float]:
        """Return those of what is shared, and the number of contexts."""
        return {**self.shared.figures(), **super().figures()}

    def reset(self) -> None:
        """Forget everything learned, and all contexts."""
        self.shared.reset()
        self._forget_contexts()
        self._offsets.start(self._known)
        self._updates = 0

    def predict(self, p: float, context: Context = ()) -> float:
        """Return the calibrated probability of `p` in a context and keep nothing."""
        return self.issue(p, context)[0]

    def issue(self, p: float, context: Context = ()) -> tuple[float, Ticket]:
        """Return the calibrated probability of `p` in a context, and the ticket for its label."""
        if type(p) is not float or not 0.0 <= p <= 1.0:
            p = as_probability(p)
        offsets = self._offsets
        shared = offsets.shared
        u = offsets.form.features(min(max(p, shared._low), shared._high))
        logit = offsets.of(context)
        for theta, x in zip(shared._state, u):
            logit += theta * x
        q = sigmoid(logit)
        return q, (u, q, context)

    def issue_many(
        self, values: ArrayLike, contexts: Sequence[Context] | None = None
    ) -> tuple[NDArray[np.float64], list[Ticket]]:
        """Return what `issue` gives for each of many probabilities, and their tickets.

        Parameters
        ----------
        values : array_like of float, shape (n,)
            Probabilities.
        contexts : sequence of tuple, length n
            The context of each; none: all are unknown.

        Returns
        -------
        q : ndarray of float, shape (n,)
            Within 1e-12 of what `issue` returns for each.
        tickets : list

        Raises
        ------
        ValueError
            If one is outside [0, 1] or has no context.
        """
        p = np.asarray(values, dtype=np.float64)
        inside = (p >= 0.0) & (p <= 1.0)
        if not inside.all():
            raise bad_probability(float(p[~inside][0]))
        each = [()] * len(p) if contexts is None else contexts
        if len(each) != len(p):
            raise ValueError(f'{len(p)} probabilities need as many contexts, not {len(each)}')
        offsets = self._offsets
        shared, size = offsets.shared, offsets.form.size
        known: dict[Context, float] = {context: offsets.of(context) for context in set(each)}
        u = offsets.form.features_many(np.minimum(np.maximum(p, shared._low), shared._high))
        q = sigmoids(u.dot(shared._state[:size]) + [known[context] for context in each])
        return q, list(zip(map(tuple, u.tolist()), q.tolist(), each))

    def update(self, p: float, y: int, ticket: Ticket | None = None, context: Context = ()) -> None:
        """Learn from the outcome `y` of the forecast made of `p`; `context` is for no ticket."""
        if ticket is None:
            ticket = self.issue(p, context)[1]
        elif not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        u, q, context = ticket
        if not 0.0 <= q <= 1.0:
            raise UpdateNotFinite('the ticket holds what no forecast was made of')
        offsets = self._offsets
        logit = offsets.of(context)
        for theta, x in zip(offsets.shared._state, u):
            logit += theta * x
        key = offsets.learn(u, residual(logit, y), context)
        self._updates += 1
        self._tally(key, q, int(y), q if y else 1.0 - q)

    def _own_figures(self, place: int) -> tuple[float, None]:
        return self._offsets.at(place), None

    def _mark(self, ticket: Any) -> Any:
        return self._offsets.mark(), self._updates

    def _go_back(self, mark: Any) -> None:
        offsets, self._updates = mark
        self._offsets.go_back(offsets)

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
        return self.shared._learned()

    def _learned_of_contexts(self) -> dict[str, Any]:
        return self._offsets.state()

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        contexts = state['contexts']
        known, tallies = self._read_contexts(contexts, updates)
        own = {name: parameters[name] for name in self.shared.parameters()}
        self._offsets.restore(
            {**state, 'parameters': own}, contexts, known, parameters, float(updates)
        )
        self._known, self._tallies = known, tallies
