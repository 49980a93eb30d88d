# SPDX-License-Identifier: Apache-2.0
"""Offsets of contexts, learned with what all contexts share by one Online Newton Step."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.core.calibrators.contexts.forms import Form, triangle
from calib_node.core.calibrators.contexts.known import Context, KnownContexts
from calib_node.core.calibrators.contexts.values import Values
from calib_node.core.calibrators.newton_learner import NewtonLearner, not_positive_definite
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.ranges import Interval
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

Floats = NDArray[np.float64]

LARGEST_FEATURE = 25.0
"""Above the logarithm of the smallest clip."""
FARTHEST = 200.0
"""An offset moves with the shared map beyond the radius, but by no more than so many radii."""


class Offsets:
    """Adds to the shared logit ``theta' u`` an offset for each context.

    The features are those of the method and a 1 for the context, the matrix `A` of the Newton step
    starts from diag(rho, ..., context_rho, ...). Since a sample has one context, `A` is an arrow:
    a block of the method's size d, a diagonal, and a border between them. It is kept as its
    factors ``L D L'`` with the contexts first. ``D`` then holds for each context the weight
    w = context_rho + Σ e² and, of what is shared, the Schur complement S of all contexts; ``L``
    the mean m = Σ e² u / w of each context. In the coordinates ``L' (theta, offsets)``, that is
    (theta, r) with r = offset + m' theta, the matrix is block-diagonal, and a step of a sample
    moves nothing but theta and the r of its own context:

        w' = w + e²;  S' = S + e² (w/w') (u - m)(u - m)';  m' = m + (e²/w') (u - m)
        theta' = theta - S'^-1 (u - m) e (w/w') / gamma
        r' = r + (m' - m)' theta - e / (gamma w')

    so it takes O(d²), however many contexts there are, without a difference of large numbers, and
    is the same step as with a solve of all of `A`.

    With several context variables each value of each has an offset too; `Values` says how.

    `theta` is kept in the ball of the radius as without contexts, projected in the norm of `A`
    with all offsets free; that is the norm of S. Each offset is kept within the radius, too, when
    its context comes.

    Parameters
    ----------
    shared : NewtonLearner
        Its matrix is S: what is known of its parameters whatever the offsets.
    form : Form
        Of its method.
    known : KnownContexts
        Places of the contexts.
    rho : float
        context_rho.

    References
    ----------
    Hazan, Agarwal and Kale, *Logarithmic regret algorithms for online convex optimization*,
    Machine Learning 69, 2007 (the step). Gill, Golub, Murray and Saunders, *Methods for modifying
    matrix factorizations*, Mathematics of Computation 28, 1974 (the factors after a rank-one
    update).
    """

    def __init__(self, shared: NewtonLearner, form: Form, known: KnownContexts, rho: float) -> None:
        self.shared, self.form, self.rho = shared, form, rho
        self.start(known)

    def start(self, known: KnownContexts) -> None:
        """Begin without any context; what is shared stays."""
        self._known = known
        # A row for each context: w, m, r. Replaced at each step, never changed.
        self._table: Floats = np.empty((0, self.form.size + 2))
        self._values = Values(known.names)

    def of(self, context: Context) -> float:
        """Return what a context adds to the logit."""
        place = self._known.find(context)
        if place < 0:
            return self._values.of_new(self._known.key(context)) if len(self._values) else 0.0
        return self.at(place)

    def at(self, place: int) -> float:
        """Return what the context at a place adds to the logit."""
        weight, *mean, r = self._table[place].tolist()
        for theta, m in zip(self.shared._state, mean):
            r -= theta * m
        return float(r + self.rho / weight * self._values.at(place))

    def learn(self, u: tuple[float, ...], error: float, context: Context) -> Context:
        """Take a step against the gradient `error` times the features; return the context's key.

        Raises
        ------
        UpdateNotFinite
            If the result would not be finite; nothing has changed then.
        """
        if not all([-LARGEST_FEATURE < x < LARGEST_FEATURE for x in u]):
            raise UpdateNotFinite('the ticket holds what no forecast was made of')
        shared, known, form = self.shared, self._known, self.form
        gamma, radius = shared._gamma, shared._radius
        key = known.key(context)
        place = known.places.get(key, -1)
        state, table, values = shared._state, self._table, self._values
        if place < 0:
            place = len(table)
            table = np.concatenate([table, [[self.rho, *[0.0] * (form.size + 1)]]])
            values = values.with_context(key)
        else:
            table = table.copy()
        if shared._forgetting != 1.0:
            state, table = self._forgotten(state, table, values)
        weight, *mean, r = table[place].tolist()
        grown = weight + error * error
        kept, taken = weight / grown, error * error / grown
        centred = [x - m for x, m in zip(u, mean)]
        r += taken * (
            sum([theta * c for theta, c in zip(state, centred)])
            + self.rho / weight * values.at(place)
        ) - error / (gamma * grown)
        mean = [m + taken * c for m, c in zip(mean, centred)]
        table[place] = grown, *mean, r
        if len(values):
            state, values = values.step(
                form, state, table, place, centred, weight, error, (gamma, self.rho, radius)
            )
        else:
            root = kept**0.5
            gradient = [error * root * c for c in centred]
            state = form.step(state, gradient, gamma / root, radius)
        middle = sum([theta * m for theta, m in zip(state, mean)])
        middle += (1.0 - self.rho / grown) * values.at(place)
        if not middle - radius <= r <= middle + radius:
            r = min(max(r, middle - radius), middle + radius)
            table[place, -1] = r
        total = middle + r + grown
        if total - total != 0.0:
            raise UpdateNotFinite('the update gives a number that is not finite')
        known.add(key)
        shared._state, self._table, self._values = state, table, values
        return key

    def mark(self) -> tuple[Any, ...]:
        """Return what `go_back` needs to take back the next step."""
        return self.shared._state, self._table, self._values

    def go_back(self, mark: tuple[Any, ...]) -> None:
        """Take back the step after `mark`."""
        if len(mark[1]) < len(self._table):
            self._known.remove_last()
        self.shared._state, self._table, self._values = mark

    def _forgotten(
        self, state: tuple[float, ...], table: Floats, values: Values
    ) -> tuple[tuple[float, ...], Floats]:
        """Return the state and the table of the matrix ``f A + (1 - f) diag(rho, context_rho)``."""
        kept, rho = self.shared._forgetting, self.shared._rho
        weight = kept * table[:, 0] + (1.0 - kept) * self.rho
        ratio = kept * table[:, 0] / weight
        means = table[:, 1:-1]
        # What the border loses is no longer taken off the shared block.
        back = (1.0 - kept) * self.rho * (ratio[:, np.newaxis] * means).T.dot(means)
        upper = [
            kept * a + back[i, j] + ((1.0 - kept) * rho if i == j else 0.0)
            for a, (i, j) in zip(state[self.form.size :], triangle(self.form.size))
        ]
        theta = state[: self.form.size]
        moved = values.moved(table, weight, ratio, theta, self.rho)
        return (*theta, *map(float, upper)), moved

    def configure(self, parameters: dict[str, Any], rho: float) -> None:
        """Take over new parameters of what is shared, and another context_rho; or change nothing.

        Raises
        ------
        ValueError
            If one cannot be, or `A` would not stay positive definite.
        """
        shared = deepcopy(self.shared)
        smaller = parameters['radius'] < shared._radius
        before = self.shared, self._table, self._values, self.rho
        try:
            self.shared = shared
            if rho != self.rho:
                self._shift(rho)
            if smaller and len(self._values):
                inside = self._values.project(
                    self.form, shared._state, self._table, self.rho, parameters['radius']
                )
                shared._state, self._values = inside
            shared.configure(**parameters)
            if smaller:
                self._bring_within(shared._radius)
        except BaseException:
            self.shared, self._table, self._values, self.rho = before
            raise

    def _bring_within(self, radius: float) -> None:
        self._values = self._values.within(radius)
        middle = self._table[:, 1:-1].dot(self.shared._state[: self.form.size])
        if len(self._values):
            middle += (1.0 - self.rho / self._table[:, 0]) * self._values.sums
        table = self._table.copy()
        table[:, -1] = np.clip(table[:, -1], middle - radius, middle + radius)
        self._table = table

    def _shift(self, rho: float) -> None:
        """Add ``(rho - context_rho) I`` to the part of `A` that is the contexts'."""
        table, size, state = self._table, self.form.size, self.shared._state
        change = rho - self.rho
        weight = np.maximum(table[:, 0] + change, rho)
        ratio = table[:, 0] / weight
        means = table[:, 1:-1]
        back = ((weight - table[:, 0]) * ratio)[:, np.newaxis] * means
        added = back.T.dot(means)
        matrix = [[0.0] * size for _ in range(size)]
        for a, (i, j) in zip(state[size:], triangle(size)):
            matrix[i][j] = matrix[j][i] = a + float(added[i, j])
        if not fields.is_positive_definite(matrix):
            raise StateError(not_positive_definite(change).replace('rho', 'context_rho'))
        upper = [matrix[i][j] for i, j in triangle(size)]
        self._table = self._values.moved(table, weight, ratio, state[:size], self.rho)
        self.shared._state = (*state[:size], *upper)
        self.rho = rho

    def state(self) -> dict[str, Any]:
        """Return what was learned of the contexts: w, m and r of each, and offsets of values."""
        return {
            'weights': self._table[:, 0].tolist(),
            'means': self._table[:, 1:-1].tolist(),
            'logits': self._table[:, -1].tolist(),
            **self._values.state(),
        }

    def restore(
        self,
        state: dict[str, Any],
        contexts: dict[str, Any],
        known: KnownContexts,
        parameters: dict[str, Any],
        most: float,
    ) -> None:
        """Take over a saved state of what is shared, and of contexts if there are any.

        Parameters
        ----------
        state : dict
            Of `shared`, with `parameters`.
        contexts : dict
            What `state` returned, or nothing.
        known : KnownContexts
            Those of `contexts`.
        parameters : dict
            As saved, with context_rho.
        most : float
            Largest sum of e² that so many updates can make.

        Raises
        ------
        StateError
            If it is not sound; nothing has changed then.
        """
        own, rho = self.shared.parameters(), self.rho
        read = Offsets(deepcopy(self.shared), self.form, known, parameters['context_rho'])
        # First with the parameters that it was saved with: they hold for the contexts too.
        read.shared.reset()
        read.shared.configure(**{name: parameters[name] for name in own})
        read.shared.restore(state)
        if contexts:
            read._restore_contexts(contexts, most)
        read.configure(own, rho)
        self.__dict__.update(read.__dict__)

    def _restore_contexts(self, contexts: dict[str, Any], most: float) -> None:
        count, size = len(self._known), self.form.size
        weights = fields.numbers(contexts, 'weights', count)
        for weight in weights:
            if not self.rho * (1.0 - 1e-9) <= weight <= (self.rho + most) * (1.0 + 1e-9):
                raise StateError(f'a weight must come of context_rho and updates, not {weight!r}')
        limits = Interval(-LARGEST_FEATURE, LARGEST_FEATURE)
        means = fields.rows(contexts, 'means', (count, size), limits)
        logits = fields.numbers(contexts, 'logits', count)
        self._values = Values.restored(contexts, self._known, self.shared._radius)
        table = np.column_stack([np.array(weights), np.array(means).reshape(-1, size), logits])
        self._table = table.reshape(-1, size + 2)
        for place in range(count):
            if not abs(self.at(place)) <= FARTHEST * self.shared._radius:
                raise StateError(f'an offset is far outside its own radius {self.shared._radius!r}')
