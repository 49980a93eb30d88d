# SPDX-License-Identifier: Apache-2.0
"""What is wanted of a message: several paths as one tree of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from calib_node.stream.paths import At, Each, Field, Step, Where


@dataclass
class Want:
    """What is wanted of a value.

    Attributes
    ----------
    takers : list of str
        Statements that take the value itself, to be completed by its place.
    fields : dict of str to Want
    each : Want or None
        Of each element.
    counters : list of str
        Statements that take the length of the array.
    at : dict of int to Want
        Of one element.
    where : list of (Where, Want)
        Of the first element whose field has some value.
    seek : list of (bytes, str)
        Texts whose index in an array of names is wanted, and the variables that take it.
    """

    takers: list[str] = field(default_factory=list)
    fields: dict[str, Want] = field(default_factory=dict)
    each: Want | None = None
    counters: list[str] = field(default_factory=list)
    at: dict[int, Want] = field(default_factory=dict)
    where: list[tuple[Where, Want]] = field(default_factory=list)
    seek: list[tuple[bytes, str]] = field(default_factory=list)

    @property
    def needs_loop(self) -> bool:
        """Whether more is wanted of an array than what is at constant places of its elements."""
        elements = [*self.at.values(), *([self.each] if self.each else [])]
        return bool(self.where or self.seek) or any(want._is_deep for want in elements)

    @property
    def _is_deep(self) -> bool:
        fields = [*self.fields.values(), *self.at.values()]
        return bool(self.each or self.where or self.seek) or any(want._is_deep for want in fields)

    def next(self, step: Step) -> Want:
        """Return what is wanted a step on, nothing yet where the step is new."""
        match step:
            case Field(name):
                return self.fields.setdefault(name, Want())
            case Each():
                if self.each is None:
                    self.each = Want()
                return self.each
            case At(index):
                return self.at.setdefault(index, Want())
        for known, want in self.where:
            if known == step:
                return want
        self.where.append((step, Want()))
        return self.where[-1][1]


@dataclass
class Wants:
    """The tree, and the lists of lengths that each column is under.

    Attributes
    ----------
    root : Want
    counts : list of list of int
        By column, the numbers of the lists of lengths, the outer one first.
    """

    root: Want
    counts: list[list[int]]
    number_of_counts: int = 0


def taker(column: int) -> str:
    """Return the statement that takes a value of a column."""
    return f'c{column}.append({{}})'


def gather(paths: Sequence[Sequence[Step]]) -> Wants:
    """Return several paths as one tree, their columns in their order."""
    wants = Wants(Want(), [])
    arrays: list[tuple[Step, ...]] = []
    for column, steps in enumerate(paths):
        want, above = wants.root, []
        for number, step in enumerate(steps):
            if isinstance(step, Each):
                array = tuple(steps[:number])
                if array not in arrays:
                    want.counters.append(f'n{len(arrays)}.append({{}})')
                    arrays.append(array)
                above.append(arrays.index(array))
            want = want.next(step)
        want.takers.append(taker(column))
        wants.counts.append(above)
    wants.number_of_counts = len(arrays)
    return wants
