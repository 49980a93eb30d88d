# SPDX-License-Identifier: Apache-2.0
"""Offsets of the values of several context variables, beside those of their combinations."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.core.calibrators.contexts.forms import Form, triangle
from calib_node.core.calibrators.contexts.known import OTHERS, Context, KnownContexts
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.ranges import Interval
from calib_node.core.state import fields

Floats = NDArray[np.float64]


class Values:
    """An offset for each value of each variable that a combination has come of.

    What all share and these offsets make the block of the arrow `A` (see `Offsets`) that the
    combinations leave: its matrix is put together from the combinations' weights and means, and
    solved afresh at each step, so that no inverse wears out. With one variable a value is all of
    the context, and there are none.

    An instance is never changed; what changes it returns another.

    Parameters
    ----------
    names : tuple of str
        Of the context variables.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._variables = len(names)
        self._index: dict[tuple[int, str | int | None], int] = {}
        self._members: tuple[tuple[int, ...], ...] = ()
        self._offsets: Floats = np.empty(0)
        self._indicator: Floats = np.empty((0, 0))

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def sums(self) -> Floats:
        """Sum of the offsets of the values of each combination, shape (C,)."""
        result: Floats = self._indicator.dot(self._offsets)
        return result

    def at(self, place: int) -> float:
        """Return the sum of the offsets of the values of the combination at a place."""
        return self._of(self._members[place]) if len(self._offsets) else 0.0

    def of_new(self, key: Context) -> float:
        """Return the sum of the offsets of those values of a new combination that are known."""
        pairs = enumerate(() if key == OTHERS else key)
        return self._of([self._index[pair] for pair in pairs if pair in self._index])

    def _of(self, indices: Sequence[int]) -> float:
        return sum([float(self._offsets[i]) for i in indices])

    def with_context(self, key: Context) -> Values:
        """Return these with a combination more; of one variable itself."""
        if self._variables == 1:
            return self
        index = dict(self._index)
        pairs = enumerate(() if key == OTHERS else key)
        member = tuple([index.setdefault(pair, len(index)) for pair in pairs])
        more = copy(self)
        more._index, more._members = index, (*self._members, member)
        more._offsets = np.zeros(len(index))
        more._offsets[: len(self._offsets)] = self._offsets
        more._indicator = np.zeros((len(more._members), len(index)))
        more._indicator[:-1, : len(self._offsets)] = self._indicator
        more._indicator[-1, list(member)] = 1.0
        return more

    def within(self, radius: float) -> Values:
        """Return these with each offset within the radius."""
        return self._with(np.clip(self._offsets, -radius, radius))

    def _with(self, offsets: Floats) -> Values:
        moved = copy(self)
        moved._offsets = offsets
        return moved

    def matrix(self, size: int, upper: Sequence[float], table: Floats, rho: float) -> Floats:
        """Return the block of `A` that is left when the combinations are eliminated.

        Parameters
        ----------
        size : int
            Number of shared parameters, d.
        upper : sequence of float
            The triangle of their own matrix, from which combinations alone are eliminated.
        table : ndarray of float, shape (C, d + 2)
            Weight, means and logit of each combination.
        rho : float
            context_rho.

        Returns
        -------
        ndarray of float, shape (d + V, d + V)
        """
        indicator, whole = self._indicator, size + len(self)
        weights = table[:, 0]
        border = rho * indicator.T.dot(table[:, 1:-1])
        matrix = np.empty((whole, whole))
        for a, (i, j) in zip(upper, triangle(size)):
            matrix[i, j] = matrix[j, i] = a
        matrix[size:, :size], matrix[:size, size:] = border, border.T
        shares = rho * (1.0 - rho / weights)
        matrix[size:, size:] = (indicator.T * shares).dot(indicator)
        matrix.reshape(-1)[size * (whole + 1) :: whole + 1] += rho
        return matrix

    def step(
        self,
        form: Form,
        state: tuple[float, ...],
        table: Floats,
        place: int,
        centred: list[float],
        weight: float,
        error: float,
        parameters: tuple[float, float, float],
    ) -> tuple[tuple[float, ...], Values]:
        """Take the step of `Offsets.learn` where there are values; `table` is that after it.

        Returns
        -------
        state : tuple of float
            Shared parameters and the triangle of their matrix.
        values : Values
            With the new offsets.
        """
        gamma, rho, radius = parameters
        size = form.size
        kept = weight / float(table[place, 0])
        taken = error * error * kept
        upper = [
            a + taken * centred[i] * centred[j] for a, (i, j) in zip(state[size:], triangle(size))
        ]
        direction = np.zeros(size + len(self))
        direction[:size] = centred
        for i in self._members[place]:
            direction[size + i] = rho / weight
        matrix = self.matrix(size, upper, table, rho)
        try:
            step = np.linalg.solve(matrix, direction) * (error * kept / gamma)
        except np.linalg.LinAlgError:
            raise UpdateNotFinite('the Newton matrix is no longer positive definite') from None
        offsets = self._offsets - step[size:]
        theta = [t - x for t, x in zip(state, step[:size].tolist())]
        total = sum(theta) + float(offsets.sum()) + sum(upper)
        if total - total != 0.0:
            raise UpdateNotFinite('the update gives a number that is not finite')
        inside, values = self._with(offsets).project(form, (*theta, *upper), table, rho, radius)
        return inside, values.within(radius)

    def project(
        self, form: Form, state: tuple[float, ...], table: Floats, rho: float, radius: float
    ) -> tuple[tuple[float, ...], Values]:
        """Return shared parameters within the radius in the norm of `A`, and offsets that go along.

        Returns
        -------
        state, values
            As of `step`.
        """
        size = form.size
        theta, upper = state[:size], state[size:]
        inside = theta
        if size == 1:
            inside = form.project(*theta, 1.0, radius)
        elif sum([x * x for x in theta]) > radius * radius:
            matrix = self.matrix(size, upper, table, rho)
            left = np.linalg.solve(matrix[size:, size:], matrix[size:, :size])
            marginal = matrix[:size, :size] - matrix[:size, size:].dot(left)
            corner = [float(marginal[place]) for place in triangle(size)]
            inside = form.project(*theta, *corner, radius)
        if inside == theta:
            return state, self
        matrix = self.matrix(size, upper, table, rho)
        shift = np.linalg.solve(
            matrix[size:, size:], matrix[size:, :size].dot(np.subtract(inside, theta))
        )
        return (*inside, *upper), self._with(self._offsets - shift)

    def moved(
        self, table: Floats, weight: Floats, ratio: Floats, theta: Sequence[float], rho: float
    ) -> Floats:
        """Return the table with other weights, and `ratio` of the means; no offset changes."""
        moved = np.empty_like(table)
        moved[:, 0] = weight
        moved[:, 1:-1] = table[:, 1:-1] * ratio[:, np.newaxis]
        moved[:, -1] = table[:, -1] + (moved[:, 1:-1] - table[:, 1:-1]).dot(theta)
        if len(self):
            # The mean of the 1 of a value is that of e² over the weight.
            moved[:, -1] += (1.0 - rho / table[:, 0]) * (ratio - 1.0) * self.sums
        return moved

    def state(self) -> dict[str, Any]:
        """Return the offsets of the values, in the order of the combinations they came in."""
        return {'values': self._offsets.tolist()} if self._variables > 1 else {}

    @staticmethod
    def restored(contexts: dict[str, Any], known: KnownContexts, radius: float) -> Values:
        """Return the values of a state with these contexts.

        Raises
        ------
        StateError
            If they are not sound.
        """
        values = Values(known.names)
        for key in known.places:
            values = values.with_context(key)
        if values._variables > 1:
            limits = Interval(-radius * (1.0 + 1e-9), radius * (1.0 + 1e-9))
            values._offsets = np.array(
                fields.numbers(contexts, 'values', len(values), limits), dtype=np.float64
            )
        return values
