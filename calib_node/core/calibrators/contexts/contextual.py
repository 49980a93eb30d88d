# SPDX-License-Identifier: Apache-2.0
"""What all calibrators that know contexts have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from calib_node.core.calibrators.base import Learner
from calib_node.core.calibrators.contexts.known import (
    OTHERS,
    Context,
    KnownContexts,
    check_context_names,
)
from calib_node.core.calibrators.contexts.tally import ContextFigures, Tally
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS, Parameter
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

MOST = int(CALIBRATOR_LIMITS['context_capacity'].high) + 1  # type: ignore[union-attr]
"""Contexts of a state: those of the largest capacity and the bucket of all others."""


class Contextual(Learner):
    """Learns what all contexts share, and of each context what is its own.

    `issue` takes the context of a forecast; the ticket holds it, so that `update` needs none. A
    context has a place from its first label on; before, it is forecast by what is shared.

    Its state is that of the method without contexts, with one more field, ``contexts``. So a state
    saved without contexts can be taken over, and one saved with contexts, or with others, is read
    for what they share.

    Attributes
    ----------
    left_out : str
        After a restore, the sentence that says what of the state was not taken over; else empty.
    """

    contextual: ClassVar[bool] = True
    left_out: str = ''

    def _set_up(self, names: tuple[str, ...], capacity: int, tallied: bool) -> None:
        self._known = KnownContexts(check_context_names(names), capacity)
        self._tallies: list[Tally] | None = [] if tallied else None

    @property
    def contexts(self) -> tuple[str, ...]:
        """Names of the context variables."""
        return self._known.names

    @property
    def overflowed(self) -> bool:
        """Whether labels came of more contexts than the capacity, so that some share a bucket."""
        return self._known.overflowed

    def figures(self) -> dict[str, float]:
        """Return those of the method, and the number of contexts that have a place."""
        return {**super().figures(), 'contexts': len(self._known) - self.overflowed}

    def context_figures(self) -> dict[str, ContextFigures]:
        """Return the figures of each context that has had a label since the last reset.

        Returns
        -------
        dict of str to ContextFigures
            By the text of the context, in the order of their first labels.
        """
        figures: dict[str, ContextFigures] = {}
        for (key, place), tally in zip(self._known.places.items(), self._tallies or []):
            text = self._known.text(key)
            while text in figures:  # A number and its text.
                text += "'"
            figures[text] = ContextFigures(
                () if key == OTHERS else key,
                tally.count,
                tally.ece,
                tally.log_loss,
                *self._own_figures(place),
            )
        return figures

    @abstractmethod
    def _own_figures(self, place: int) -> tuple[float | None, float | None]:
        """Return the offset of a context and the share of its own calibrator."""

    def _tally(self, key: Context, q: float, hit: int, likelihood: float) -> None:
        """Take the forecast of a context that has a place into its figures."""
        if self._tallies is not None:
            place = self._known.places[key]
            while len(self._tallies) <= place:
                self._tallies.append(Tally())
            self._tallies[place].add(q, hit, likelihood)

    def _forget_contexts(self) -> None:
        self._known = KnownContexts(self._known.names, self._known.capacity)
        if self._tallies is not None:
            self._tallies = []

    @abstractmethod
    def _context_parameters(self) -> dict[str, Parameter]:
        """Return the parameters that the method has not without contexts."""

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as `Learner.state` does."""
        state = super().state()
        own = self._context_parameters()
        state['parameters'] = {k: v for k, v in state['parameters'].items() if k not in own}
        contexts = {'names': list(self.contexts), 'known': self._known.saved()}
        if self._tallies is not None:
            contexts['tallies'] = [tally.state() for tally in self._tallies]
        contexts = {**contexts, **self._learned_of_contexts(), 'parameters': own}
        # First: a state without them is sound, and must not be what is left of a file cut short.
        return {'contexts': contexts, **state}

    @abstractmethod
    def _learned_of_contexts(self) -> dict[str, Any]:
        """Return the method's own part of the field ``contexts``."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a saved state, as `Learner.restore` does; of other contexts what is shared."""
        own = self._context_parameters()
        contexts: dict[str, Any] = {}
        left_out = ''
        if 'contexts' in state:
            contexts = fields.table(state, 'contexts')
            names = contexts.get('names')
            try:
                saved = check_context_names(names if isinstance(names, list) else '')
            except ValueError as error:
                raise StateError(f'in contexts, names: {error}') from None
            if saved != self.contexts:
                left_out = (
                    f'it was saved with contexts {brief(", ".join(saved))}, '
                    f'not {", ".join(self.contexts)!r}: only what all of them share was taken over'
                )
                contexts = {}
            else:
                own = fields.table(contexts, 'parameters')
        # What `Learner.restore` checks is the parameters of both.
        merged = {**fields.table(state, 'parameters'), **own}
        super().restore({**state, 'parameters': merged, 'contexts': contexts})
        self.left_out = left_out

    def _read_contexts(self, contexts: dict[str, Any], updates: int) -> tuple[Any, Any]:
        """Return the known contexts and the tallies of a field ``contexts``, empty or checked."""
        if not contexts:
            empty = KnownContexts(self._known.names, self._known.capacity)
            return empty, None if self._tallies is None else []
        known = self._known.read(contexts.get('known'), MOST)
        if self._tallies is None:
            return known, None
        saved = contexts.get('tallies')
        if not isinstance(saved, list) or len(saved) != len(known):
            raise StateError(f'tallies must be a list of {len(known)} tables')
        tallies = [Tally.restored(tally) for tally in saved]
        if not all(tally.count for tally in tallies):
            raise StateError('tallies must hold a label of each context')
        total = sum(tally.count for tally in tallies)
        if total > updates:
            raise StateError(f'there are {total} labels in tallies, but {updates} updates')
        return known, tallies
