# SPDX-License-Identifier: Apache-2.0
"""Contexts of forecasts that are one probability per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.contexts.chain import Chain
from calib_node.core.calibrators.contexts.contextual import Contextual
from calib_node.core.calibrators.contexts.known import Context
from calib_node.core.calibrators.contexts.offset_calibrator import OffsetCalibrator
from calib_node.core.calibrators.multiclass.base import (
    Floats,
    MulticlassCalibrator,
    by_class,
    normalised,
)
from calib_node.core.calibrators.multiclass.one_vs_rest import OneVsRest
from calib_node.core.calibrators.parameters import Parameter
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.ranges import SUM_TOLERANCE
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


class ContextualClasses(Contextual, MulticlassCalibrator):
    """What both calibrators of many classes that know contexts have in common."""

    def _checked_many(
        self, values: ArrayLike, contexts: Sequence[Context] | None
    ) -> tuple[Floats, Sequence[Context]]:
        """Return probabilities as an array of rows, and the context of each, or raise."""
        p = np.asarray(values, dtype=np.float64)
        if p.ndim != 2 or p.shape[1] != self._classes:
            raise ValueError(f'rows of {self._classes} probabilities are expected, not {p.shape}')
        bad = ~((p >= 0.0) & (p <= 1.0)).all(axis=1)
        bad |= ~(np.abs(p.sum(axis=1) - 1.0) <= SUM_TOLERANCE)
        for row in p[bad]:
            self._checked(row)
        each = [()] * len(p) if contexts is None else contexts
        if len(each) != len(p):
            raise ValueError(f'{len(p)} rows need as many contexts, not {len(each)}')
        return p, each

    def _tally_class(self, context: Context, q: Floats, label: int) -> None:
        """Take in the forecast of a context: its likeliest class, and the one that came."""
        key = self._known.key(context)
        self._known.add(key)
        top = int(q.argmax())
        self._tally(key, float(q[top]), int(top == label), float(q[label]))

    def _check_issued(self, q: Any) -> None:
        if getattr(q, 'shape', None) != (self._classes,) or not (q.min() >= 0.0 and q.max() <= 1.0):
            raise UpdateNotFinite('the ticket holds what no forecast was made of')


class ContextualOneVsRest(ContextualClasses, OneVsRest):
    """One binary calibrator with contexts per class, the outputs renormalised to sum 1.

    Parameters
    ----------
    calibrators : sequence of OffsetCalibrator or Chain
        As of `OneVsRest`, all of the same contexts; none keeps figures of its own.

    Examples
    --------
    >>> from calib_node.core.calibrators import create_multiclass
    >>> calibrator = create_multiclass('ops', 3, contexts=('camera',))
    >>> for _ in range(200):
    ...     for camera, label in ((0, 0), (1, 1)):
    ...         q, ticket = calibrator.issue([0.4, 0.4, 0.2], (camera,))
    ...         calibrator.update([0.4, 0.4, 0.2], label, ticket)
    >>> calibrator.predict([0.4, 0.4, 0.2], (1,)).round(2).tolist()
    [0.05, 0.94, 0.01]
    """

    def __init__(self, calibrators: Sequence[OffsetCalibrator | Chain]) -> None:
        OneVsRest.__init__(self, calibrators)
        self._set_up(calibrators[0].contexts, calibrators[0]._known.capacity, True)

    @property
    def _contextual(self) -> list[Any]:
        return self._calibrators

    def predict(self, p: ArrayLike, context: Context = ()) -> Floats:
        """Return the calibrated probabilities of `p` in a context and keep nothing."""
        array = self._checked(p)
        pairs = zip(self._contextual, array.tolist())
        q = np.array([binary.predict(x, context) for binary, x in pairs])
        return normalised(q, array)

    def issue(self, p: ArrayLike, context: Context = ()) -> tuple[Floats, Any]:
        """Return the calibrated probabilities of `p` in a context, and the ticket."""
        array = self._checked(p)
        self._known.find(context)
        pairs = [binary.issue(x, context) for binary, x in zip(self._contextual, array.tolist())]
        q = normalised(np.array([pair[0] for pair in pairs]), array)
        return q, (q, [pair[1] for pair in pairs], context)

    def issue_many(
        self, values: ArrayLike, contexts: Sequence[Context] | None = None
    ) -> tuple[Floats, list[Any]]:
        """Return what `issue` gives for each of many rows, shape (n, K), and their tickets.

        Raises
        ------
        ValueError
            If a row is not K probabilities that sum to 1, or has no context.
        """
        p, each = self._checked_many(values, contexts)
        columns = [binary.issue_many(x, each) for binary, x in zip(self._contextual, p.T)]
        q = np.stack([column[0] for column in columns], axis=1)
        rows = [normalised(row, raw) for row, raw in zip(q, p)]
        tickets = zip(*(column[1] for column in columns))
        return (
            np.array(rows).reshape(p.shape),
            [(q, list(own), context) for q, own, context in zip(rows, tickets, each)],
        )

    def update(self, p: ArrayLike, label: int, ticket: Any = None, context: Context = ()) -> None:
        """Learn from the outcome `label` of the forecast of `p`; `context` is for no ticket."""
        self._checked(p)
        index = self._checked_label(label)
        q, own, context = self.issue(p, context)[1] if ticket is None else ticket
        self._check_issued(q)
        super().update(p, index, own)
        self._tally_class(context, q, index)

    def figures(self) -> dict[str, float]:
        """Return the figures of the binary calibrators by class, of updates and of contexts."""
        each = [binary.shared.figures() for binary in self._contextual]
        own = {name: [of[name] for of in each] for name in each[0] if name != 'updates'}
        return {
            **by_class(own),
            'updates': self._updates,
            'contexts': len(self._known) - self.overflowed,
        }

    def reset(self) -> None:
        """Forget everything learned, and all contexts."""
        super().reset()
        self._forget_contexts()

    def _own_figures(self, place: int) -> tuple[None, None]:
        return None, None

    def _context_parameters(self) -> dict[str, Parameter]:
        own: dict[str, Parameter] = self._contextual[0]._context_parameters()
        return own

    def _configure(self, values: dict[str, Any]) -> None:
        super()._configure(values)
        self._known.capacity = values['context_capacity']

    def _learned(self) -> dict[str, Any]:
        if self.name != 'ops':
            return super()._learned()
        # As of all classes at once, which they are without contexts.
        learned = [binary._learned() for binary in self._contextual]
        return {name: [of[name] for of in learned] for name in ('a', 'b', 'A')}

    def _learned_of_contexts(self) -> dict[str, Any]:
        if self.name != 'ops':
            return {}
        return {'classes': [binary.state()['contexts'] for binary in self._contextual]}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        contexts = state['contexts']
        known, tallies = self._read_contexts(contexts, updates)
        states = self._states(state, parameters) if self.name == 'ops' else state.get('calibrators')
        if not contexts and isinstance(states, list):
            states = [_without_contexts(own) for own in states]
        before = self._calibrators
        super()._restore({**state, 'calibrators': states}, parameters, updates)
        for k, binary in enumerate(self._contextual):
            if list(binary._known.places) != list(known.places):
                self._calibrators = before
                raise StateError(f'class {k} has other contexts than those known')
        self._known, self._tallies = known, tallies

    def _states(self, state: dict[str, Any], parameters: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the state of each class, made of one that is of all at once."""
        own = self._context_parameters()
        shared = {name: value for name, value in parameters.items() if name not in own}
        lists = {name: state.get(name) for name in ('a', 'b', 'A')}
        if state['contexts']:
            lists['contexts'] = fields.table(state, 'contexts').get('classes')
        for name, values in lists.items():
            if not isinstance(values, list) or len(values) != self._classes:
                what = 'classes' if name == 'contexts' else name
                raise StateError(f'{what} must be a list of {self._classes}, one for each class')
        method = {'method': self.name, 'updates': state['updates'], 'parameters': shared}
        return [
            {**method, **{name: values[k] for name, values in lists.items()}}  # type: ignore[index]
            for k in range(self._classes)
        ]


def _without_contexts(state: Any) -> Any:
    """Return the state of a binary calibrator as it would be without contexts."""
    if not isinstance(state, dict):
        return state
    return {name: part for name, part in state.items() if name != 'contexts'}
