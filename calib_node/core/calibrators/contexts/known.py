# SPDX-License-Identifier: Apache-2.0
"""The contexts that have come, up to a capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_node.core.refusal import brief
from calib_node.core.state.fields import COUNTABLE, StateError

Context = tuple[str | int | None, ...]
"""A value of each context variable: a text, a whole number, or None where it is unknown."""

OTHERS: Any = (('all others',),)
"""The one bucket of what comes beyond the capacity: no context, whose values are no tuples."""


def check_context_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of context variables as a tuple.

    Raises
    ------
    ValueError
        If there is none, one is empty, or one is given twice.
    """
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f'contexts must be a list of names, not {brief(names)}')
    if not names:
        raise ValueError('contexts must name at least one context variable')
    if len(set(names)) != len(names):
        raise ValueError(f'contexts must differ from one another, not {brief(names)}')
    return tuple(names)


class KnownContexts:
    """Places of contexts in the order in which their first label came.

    Parameters
    ----------
    names : tuple of str
        Of the context variables.
    capacity : int
        So many contexts have a place of their own; all others share one more.

    Examples
    --------
    >>> known = KnownContexts(('class',), capacity=1)
    >>> known.add(('car',)), known.find(('car',)), known.find(('tree',))
    (0, 0, -1)
    >>> known.text(known.key(('tree',)))
    'all others'
    """

    def __init__(self, names: tuple[str, ...], capacity: int) -> None:
        self.names = names
        self.capacity = capacity
        self.places: dict[Context, int] = {}

    def __len__(self) -> int:
        return len(self.places)

    @property
    def overflowed(self) -> bool:
        """Whether a label has come for a context beyond the capacity."""
        return OTHERS in self.places

    def find(self, context: Context) -> int:
        """Return the place of a context, or -1 if it has none yet.

        Raises
        ------
        ValueError
            If it is no value of each context variable.
        """
        try:
            place = self.places.get(context, -1)
        except TypeError:
            place = -1
        return self.places.get(self.key(context), -1) if place < 0 else place

    def key(self, context: Context) -> Context:
        """Return a context in its one form, or `OTHERS` where there is no more room for it.

        No context at all is one with every value unknown.

        Raises
        ------
        ValueError
            If it is no value of each context variable.
        """
        key = self.checked(context or (None,) * len(self.names))
        if key in self.places:
            return key
        return OTHERS if len(self.places) - self.overflowed >= self.capacity else key

    def checked(self, context: Any) -> Context:
        """Return a context in its one form, Python's own texts and numbers.

        Raises
        ------
        ValueError
            If it is no value of each context variable.
        """
        if not isinstance(context, tuple) or len(context) != len(self.names):
            raise ValueError(
                f'a context must be a tuple of {len(self.names)} values ({", ".join(self.names)}), '
                f'not {brief(context)}'
            )
        return tuple(map(_checked_value, self.names, context))

    def add(self, key: Context) -> int:
        """Give a place to what `key` returned, and return it."""
        return self.places.setdefault(key, len(self.places))

    def remove_last(self) -> None:
        """Take back the last `add` of a new one."""
        self.places.popitem()

    def text(self, key: Context) -> str:
        """Return what an operator reads: the value, or of several variables each with its name.

        Returns
        -------
        str
        """
        if key == OTHERS:
            return 'all others'
        values = ['unknown' if value is None else str(value) for value in key]
        if len(values) == 1:
            return values[0]
        return ', '.join(f'{name} {value}' for name, value in zip(self.names, values))

    def saved(self) -> list[list[str | int | None]]:
        """Return the contexts in their order, as a part of a state; that of the others empty."""
        return [[] if key == OTHERS else list(key) for key in self.places]

    def read(self, saved: Any, most: int) -> KnownContexts:
        """Return the contexts of a state.

        Raises
        ------
        StateError
            If they are not at most `most` different ones, or one is no context.
        """
        if not isinstance(saved, list):
            raise StateError(f'known must be a list of contexts, not {brief(saved)}')
        if len(saved) > most:
            raise StateError(f'known must hold at most {most} contexts, not {len(saved)}')
        read = KnownContexts(self.names, self.capacity)
        for values in saved:
            if not isinstance(values, list):
                raise StateError(f'a context in known must be a list, not {brief(values)}')
            try:
                read.add(self.checked(tuple(values)) if values else OTHERS)
            except ValueError as error:
                raise StateError(f'in known, {error}') from None
        if len(read) != len(saved):
            raise StateError('known must not hold a context twice')
        return read


def _checked_value(name: str, value: Any) -> str | int | None:
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if abs(number) < COUNTABLE:
            return number
    raise ValueError(
        f'a value of context {name} must be a text, a whole number below 2**53 or none, '
        f'not {brief(value)}'
    )
