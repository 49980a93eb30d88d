# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the objects of a message that is a Python object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from calib_node.core.refusal import Refused
from calib_node.stream.columns import Bools, Column, Columns, Floats, Form, Layout, differ
from calib_node.stream.definitions import INTEGERS
from calib_node.stream.paths import At, Each, Field, Path, Step, Where

MISSING: Any = object()
"""What a path leads to that ends outside an array."""

Steps = Sequence[Step]


class ObjectReader:
    """Reads message objects by walking their fields; as `Reader`.

    Parameters
    ----------
    layout : Layout
        What is read.
    """

    serialized = False

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._columns = [(column, split(column.path)) for column in layout.columns]
        value = layout.columns[0].path
        self._whole = whole_limits(value.kind.name)

    def read(self, message: Any) -> Columns:
        """As in `Reader`."""
        lead, parts = self._columns[0]
        rows, sizes = _rows(message, parts)
        columns = Columns(self._stamp(message), len(rows), sizes, carrier=message)
        if any(row is MISSING for row in rows):
            columns.absent = np.array([row is MISSING for row in rows], np.bool_)
        _take(columns, lead, rows)
        for column, parts in self._columns[1:]:
            rows, own = _rows(message, parts)
            _check_lengths(columns, lead, column, len(rows), own)
            _take(columns, column, rows)
        return columns

    def write(self, columns: Columns, values: Floats, which: Bools) -> Any:
        """As in `Reader`."""
        message = columns.carrier
        holders = _holders(message, self._columns[0][1])
        for holder, value, chosen in zip(holders, values.tolist(), which.tolist(), strict=True):
            if not chosen or holder is None:
                continue
            owner, key = holder
            number = value if self._whole is None else nearest_whole(value, *self._whole)
            if isinstance(key, int):
                owner[key] = number
            else:
                setattr(owner, key, number)
        return message

    def _stamp(self, message: Any) -> tuple[int, int]:
        if self.layout.stamp is None:
            return 0, 0
        seconds, nanoseconds = (find(message, path.steps) for path in self.layout.stamp)
        if seconds is MISSING or nanoseconds is MISSING:
            raise Refused('bad_stamp', 'its path leads beyond an array')
        return int(seconds), int(nanoseconds)


def split(path: Path) -> list[Steps]:
    """Return the steps between the each of a path: one sequence more than there are of these."""
    parts: list[list[Step]] = [[]]
    for step in path.steps:
        if isinstance(step, Each):
            parts.append([])
        else:
            parts[-1].append(step)
    return list(parts)


def find(value: Any, steps: Steps) -> Any:
    """Return what steps without an each lead to, or `MISSING`."""
    above = value
    for step in steps:
        if isinstance(step, Field):
            above, value = value, getattr(value, step.name)
        else:
            index = _index(value, above, step)
            if index is None:
                return MISSING
            value = value[index]
    return value


def _index(array: Any, above: Any, step: Step) -> int | None:
    """Return which element of an array a step leads to; `above` is the message that holds it."""
    if isinstance(step, At):
        return step.index if step.index < len(array) else None
    assert isinstance(step, Where)
    if step.beside:
        told_by = list(_field(above, step.path))[: len(array)]
    else:
        told_by = [_field(element, step.path) for element in array]
    for index, found in enumerate(told_by):
        if (found[0] if isinstance(found, bytes) else found) == step.wanted:
            return index
    return None


def _field(message: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        message = getattr(message, name)
    return message


def _rows(message: Any, parts: Sequence[Steps]) -> tuple[list[Any], list[int] | None]:
    """Return what a path leads to, and the lengths of the inner arrays where there are two."""
    start = find(message, parts[0])
    if len(parts) == 1:
        return [start], None
    outer = () if start is MISSING else start
    if len(parts) == 2:
        return [find(element, parts[1]) for element in outer], None
    rows: list[Any] = []
    sizes: list[int] = []
    for element in outer:
        inner = find(element, parts[1])
        found = [] if inner is MISSING else [find(one, parts[2]) for one in inner]
        rows += found
        sizes.append(len(found))
    return rows, sizes


def _holders(value: Any, parts: Sequence[Steps]) -> Iterator[tuple[Any, str | int] | None]:
    """Yield what holds each row and under which name or index; None where a row is absent."""
    head, *rest = parts
    if not rest:
        yield _holder(value, head)
        return
    array = find(value, head)
    if array is MISSING:
        return
    if len(rest) == 1 and not rest[0]:
        yield from ((array, index) for index in range(len(array)))
        return
    for element in array:
        yield from _holders(element, rest)


def _holder(value: Any, steps: Steps) -> tuple[Any, str | int] | None:
    *to_owner, last = steps
    if isinstance(last, Field):
        owner = find(value, to_owner)
        return None if owner is MISSING else (owner, last.name)
    # The array's own field is the step before, as arrays of arrays there are none.
    above = find(value, to_owner[:-1])
    if above is MISSING:
        return None
    array = find(above, to_owner[-1:])
    index = _index(array, above, last)
    return None if index is None else (array, index)


def _check_lengths(
    columns: Columns, lead: Column, column: Column, rows: int, sizes: list[int] | None
) -> None:
    level = column.path.fan_out
    if level == 0:
        return
    if level == 1:
        wanted = columns.count if columns.sizes is None else len(columns.sizes)
        fits = rows == wanted
    else:
        fits = sizes == columns.sizes
    if not fits:
        raise differ(lead, column)


def _take(columns: Columns, column: Column, rows: list[Any]) -> None:
    if column.form is Form.TEXT:
        columns.texts[column.name] = [as_text(row) for row in rows]
    else:
        numbers = [_as_number(row) for row in rows]
        columns.numbers[column.name] = np.array(numbers, np.float64)


def _as_number(value: Any) -> float:
    if value is MISSING:
        return np.nan
    # A byte is held as bytes of length one.
    return float(value[0]) if isinstance(value, bytes) else float(value)


def as_text(value: Any) -> str:
    """Return the text of a string, a whole number, a truth value or bytes."""
    if isinstance(value, str):
        return value
    if value is MISSING:
        return ''
    if isinstance(value, (bool, np.bool_)):
        return 'true' if value else 'false'
    if isinstance(value, bytes):
        return str(value[0])
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if len(value) and isinstance(value[0], bytes):
        return b''.join(value).hex()
    return bytes(value).hex()


def whole_limits(kind: str) -> tuple[int, int] | None:
    """Return the least and the greatest number of an integer type; None of one that is none.

    Examples
    --------
    >>> whole_limits('int8'), whole_limits('char'), whole_limits('float')
    ((-128, 127), (0, 255), None)
    """
    if kind not in INTEGERS:
        return None
    bits = 8 if kind == 'char' else int(kind.rpartition('int')[2])
    if kind.startswith('int'):
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return 0, 2**bits - 1


def nearest_whole(value: float, low: int, high: int) -> int:
    """Return the whole number of a range that is nearest to a finite number."""
    return min(max(round(value), low), high)
