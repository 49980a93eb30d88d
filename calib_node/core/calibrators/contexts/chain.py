# SPDX-License-Identifier: Apache-2.0
"""Any method with contexts: a calibrator for all and, on its output, one for each context."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.calibrators.base import Calibrator, as_label, as_probability
from calib_node.core.calibrators.contexts.contextual import Contextual
from calib_node.core.calibrators.contexts.known import Context, KnownContexts
from calib_node.core.calibrators.contexts.own import (
    LARGEST_EVIDENCE,
    Own,
    Ticket,
    clipped,
    mixed,
)
from calib_node.core.calibrators.mixture.delays import WINDOW, Delays
from calib_node.core.calibrators.multiclass.one_vs_rest import for_class
from calib_node.core.calibrators.parameters import Parameter, check_parameters
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.numerics.sigmoid import sigmoid
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


class Chain(Contextual, Calibrator):
    """Mixes a shared calibrator with the context's own one, which learns on the shared output.

    The mixture is Bayes' in each context: prior one half each, weights by the likelihoods of what
    the two had issued, as clipped to ``[0.001, 0.999]``, to the power 1 / (1 + D) where labels come
    D predictions late.

    With several context variables each combination of values is a context.

    Parameters
    ----------
    shared : Calibrator
        Of any method, new. It is the instance's own from then on.
    contexts : sequence of str
        Names of the context variables.
    context_capacity : int
        So many contexts have calibrators of their own; all others share one.
    tallied : bool
        Whether figures of each context are kept.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> calibrator = create('windowed_platt', contexts=('class',))
    >>> for number in range(400):
    ...     for context, y in ((('car',), number % 10 > 0), (('tree',), number % 10 == 0)):
    ...         q, ticket = calibrator.issue(0.6, context)
    ...         calibrator.update(0.6, y, ticket)
    >>> round(calibrator.predict(0.6, ('car',)), 2), round(calibrator.predict(0.6, ('tree',)), 2)
    (0.9, 0.1)
    """

    def __init__(
        self,
        shared: Calibrator,
        contexts: Sequence[str],
        context_capacity: int = 200,
        tallied: bool = True,
    ) -> None:
        capacity = check_parameters({'context_capacity': context_capacity})['context_capacity']
        self._set_up(tuple(contexts), capacity, tallied)
        self._shared = shared
        self.name = shared.name  # type: ignore[misc]
        self.fixed = shared.fixed  # type: ignore[misc]
        self._issued = 0
        self._serial = 0
        self.reset()

    @property
    def shared(self) -> Calibrator:
        """The calibrator of all contexts; to be looked at alone."""
        return self._shared

    def figures(self) -> dict[str, float]:
        """Return those of the shared calibrator, and the number of contexts."""
        return {**self._shared.figures(), **super().figures()}

    def reset(self) -> None:
        """Forget everything learned, and all contexts."""
        self._shared.reset()
        self._forget_contexts()
        self._owns: list[Own] = []
        self._delays = Delays()
        self._updates = 0

    def predict(self, p: float, context: Context = ()) -> float:
        """Return the calibrated probability of `p` in a context and keep nothing."""
        q = self._shared.predict(p)
        place = self._known.find(context)
        if place < 0:
            return q
        own = self._owns[place]
        return mixed(q, own.calibrator.predict(q), own.evidence)

    def issue(self, p: float, context: Context = ()) -> tuple[float, Ticket]:
        """Return the calibrated probability of `p` in a context, and the ticket for its label."""
        place = self._known.find(context)
        q, shared = self._shared.issue(p)
        issued = self._issued
        self._issued += 1
        if place < 0:
            return q, Ticket(context, issued, q, q, shared, -1, q, None)
        own = self._owns[place]
        own_q, ticket = own.calibrator.issue(q)
        both = mixed(q, own_q, own.evidence)
        return both, Ticket(context, issued, both, q, shared, own.serial, own_q, ticket)

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
        tickets : list

        Raises
        ------
        ValueError
            If one is outside [0, 1] or has no context.
        """
        p = np.asarray(values, dtype=np.float64).tolist()
        each = [()] * len(p) if contexts is None else contexts
        if len(each) != len(p):
            raise ValueError(f'{len(p)} probabilities need as many contexts, not {len(each)}')
        issued = [self.issue(x, context) for x, context in zip(p, each)]
        return np.array([q for q, _ in issued]), [ticket for _, ticket in issued]

    def update(self, p: float, y: int, ticket: Ticket | None = None, context: Context = ()) -> None:
        """Learn from the outcome `y` of the forecast made of `p`; `context` is for no ticket."""
        p, y = as_probability(p), as_label(y)
        if ticket is None:
            ticket = self.issue(p, context)[1]
        self._check_ticket(ticket)
        key = self._known.key(ticket.context)
        place = self._known.places.get(key, -1)
        own = self._owns[place] if place >= 0 else self._new(len(self._owns) + 1)
        # What a calibrator issued that is gone says nothing of the one in its place.
        same = own.serial == ticket.serial
        mark, own_ticket = self._shared._mark(ticket.shared), ticket.own if same else None
        own.calibrator._mark(own_ticket)
        self._shared.update(p, y, ticket.shared)
        try:
            own.calibrator.update(ticket.shared_q, y, own_ticket)
        except Exception:
            self._shared._go_back(mark)
            raise
        if place < 0:
            self._known.add(key)
            self._owns.append(own)
        delay = self._delays.add(self._issued - 1 - ticket.place)
        if same:
            ours, theirs = clipped(ticket.own_q), clipped(ticket.shared_q)
            ratio = ours / theirs if y else (1.0 - ours) / (1.0 - theirs)
            own.evidence += log(ratio) / (1.0 + delay)
        self._updates += 1
        self._tally(key, ticket.q, y, ticket.q if y else 1.0 - ticket.q)

    def _new(self, number: int) -> Own:
        """Return the calibrator of the context of that number from 1, with a seed of its own."""
        self._serial += 1
        parameters = for_class(self._shared.parameters(), number)
        return Own(type(self._shared)(**parameters), self._serial)

    def _check_ticket(self, ticket: Ticket) -> None:
        forecasts = ticket.q, ticket.shared_q, ticket.own_q
        if not all(0.0 <= q <= 1.0 for q in forecasts) or not 0 <= ticket.place < self._issued:
            raise UpdateNotFinite('the ticket holds what no forecast was made of')

    def _own_figures(self, place: int) -> tuple[None, float]:
        return None, sigmoid(self._owns[place].evidence)

    def _mark(self, ticket: Ticket | None) -> Any:
        if ticket is None:
            # Of any context, but what is unknown has one too.
            context: Context = ()
            shared, ours, serial = None, None, -1
        else:
            self._check_ticket(ticket)
            context, shared, ours, serial = (
                ticket.context,
                ticket.shared,
                ticket.own,
                ticket.serial,
            )
        place = self._known.find(context)
        own = self._owns[place] if place >= 0 else None
        kept: Any = None
        if own is not None:
            same = own.serial == serial
            kept = own, own.calibrator._mark(ours if same else None), own.evidence
        counts = len(self._owns), self._delays.values, self._issued, self._updates
        return self._shared._mark(shared), kept, counts

    def _go_back(self, mark: Any) -> None:
        shared, kept, (owns, delays, self._issued, self._updates) = mark
        self._shared._go_back(shared)
        self._delays = Delays(delays)
        if kept is not None:
            own, ours, own.evidence = kept
            own.calibrator._go_back(ours)
        elif len(self._owns) > owns:
            self._owns.pop()
            self._known.remove_last()

    def _context_parameters(self) -> dict[str, Parameter]:
        return {'context_capacity': self._known.capacity}

    def parameters(self) -> dict[str, Parameter]:
        """Return those of the method, and context_capacity."""
        return {**self._shared.parameters(), **self._context_parameters()}

    def _configure(self, values: dict[str, Any]) -> None:
        now = self._shared.parameters()
        changed = {name: values[name] for name in now if values[name] != now[name]}
        shared, owns = deepcopy((self._shared, self._owns))
        for calibrator in (shared, *(own.calibrator for own in owns)):
            calibrator.configure(**changed)
        self._shared, self._owns = shared, owns
        self._known.capacity = values['context_capacity']

    def _learned(self) -> dict[str, Any]:
        return self._shared._learned()

    def _learned_of_contexts(self) -> dict[str, Any]:
        return {
            'delays': self._delays.values,
            'evidence': [own.evidence for own in self._owns],
            'calibrators': [own.calibrator.state() for own in self._owns],
        }

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        contexts = state['contexts']
        known, tallies = self._read_contexts(contexts, updates)
        given = {name: parameters[name] for name in self._shared.parameters()}
        shared = deepcopy(self._shared)
        shared.restore({**state, 'parameters': given})
        owns, delays = self._read_owns(contexts, known, updates) if contexts else ([], [])
        self._shared, self._owns, self._delays = shared, owns, Delays(delays)
        self._known, self._tallies = known, tallies

    def _read_owns(
        self, contexts: dict[str, Any], known: KnownContexts, updates: int
    ) -> tuple[list[Own], list[int]]:
        """Return the calibrators and the delays of a field ``contexts``, checked."""
        delays = contexts.get('delays')
        if not isinstance(delays, list) or len(delays) > min(updates, WINDOW):
            raise StateError(
                f'delays must be a list of at most {min(updates, WINDOW)} whole numbers'
            )
        delays = [fields.whole({'delays': delay}, 'delays') for delay in delays]
        evidence = fields.numbers(contexts, 'evidence', len(known))
        saved = contexts.get('calibrators')
        if not isinstance(saved, list) or len(saved) != len(known):
            raise StateError(f'calibrators must be a list of {len(known)}, not {brief(saved)}')
        owns: list[Own] = []
        for number, (own_state, log_odds) in enumerate(zip(saved, evidence), 1):
            if not isinstance(own_state, dict):
                raise StateError(f'a calibrator must be a table, not {brief(own_state)}')
            own = self._new(number)
            try:
                own.calibrator.restore(own_state)
            except StateError as error:
                raise StateError(f'in calibrator {number} of the contexts, {error}') from None
            if abs(log_odds) > LARGEST_EVIDENCE * own.calibrator.updates:
                raise StateError(f'evidence must come of the updates, not {log_odds!r}')
            own.evidence = log_odds
            owns.append(own)
        total = sum(own.calibrator.updates for own in owns)
        if total > updates:
            raise StateError(f'there are {total} updates of contexts, but {updates} of all')
        return owns, delays
