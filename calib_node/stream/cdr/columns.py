# SPDX-License-Identifier: Apache-2.0
"""A column of what was found in the bytes of a message."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import numpy as np

from calib_node.stream.cdr.program import Lists, Program
from calib_node.stream.cdr.values import Index, as_floats, decode, hexadecimal, index_of, pick
from calib_node.stream.cdr.wire import CODES, WIDTHS, Unsupported
from calib_node.stream.columns import Bools, Column, Columns, Form
from calib_node.stream.definitions import INTEGERS
from calib_node.stream.paths import At, Each, Step, Where


def steps_to(column: Column) -> tuple[Step, ...]:
    """Return the steps to the numbers or strings that a column consists of."""
    path = column.path
    return (*path.steps, Each()) if path.kind.is_array else path.steps


class WalkedColumn:
    """Makes a column of what a walk returns.

    Parameters
    ----------
    column : Column
    program : Program
        The walk.
    number : int
        Of the column in the walk.

    Attributes
    ----------
    levels : list of int
        The lists with the lengths of the arrays whose every element it is of.

    Raises
    ------
    Unsupported
        If it is read as something that it is not.
    """

    def __init__(self, column: Column, program: Program, number: int) -> None:
        path = column.path
        self._name = column.name
        self._type = path.kind.name
        self._number = number
        self._counts = program.counts[number]
        self._stride = program.strides[number]
        self.levels = self._counts[: path.fan_out]
        # An array that is absent is as good as empty.
        within = list(takewhile(lambda step: not isinstance(step, Each), reversed(path.steps)))
        self._may_be_absent = any(isinstance(step, At | Where) for step in within)
        self._read = self._reader(column)

    def _reader(self, column: Column) -> Callable[[bytes, Lists, Columns], Index | None]:
        kind, is_text = column.path.kind, column.form is Form.TEXT
        if kind.is_array:
            # The elements of one that is absent and of an empty one look alike.
            if is_text and kind.name in ('uint8', 'octet') and not self._may_be_absent:
                return self._hexadecimal
        elif is_text and kind.name == 'string':
            return self._strings
        elif is_text and kind.name in (*INTEGERS, 'boolean', 'octet'):
            return self._digits
        elif not is_text and kind.name in CODES:
            return self._numbers
        raise Unsupported(f'{column.path.text} is {kind} and read as a {column.form.value}')

    def read(self, data: bytes, lists: Lists, columns: Columns) -> Index | None:
        """Add the column, and return where its numbers are, if it is of numbers."""
        return self._read(data, lists, columns)

    def absent(self, lists: Lists) -> Bools | None:
        """Return which rows are absent, or None if none is."""
        if self._stride or not self._may_be_absent:
            return None
        absent = np.array([place == -1 for place in lists[self._number]], np.bool_)
        return absent if absent.any() else None

    def _index(self, lists: Lists) -> Index:
        lengths = lists[self._counts[-1]] if self._stride else []
        return index_of(lists[self._number], lengths, self._stride, WIDTHS[self._type])

    def _numbers(self, data: bytes, lists: Lists, columns: Columns) -> Index:
        index = self._index(lists)
        columns.numbers[self._name] = as_floats(*pick(data, self._type, index))
        return index

    def _digits(self, data: bytes, lists: Lists, columns: Columns) -> None:
        picked, absent = pick(data, self._type, self._index(lists))
        texts = [str(value) for value in picked.tolist()]
        if self._type == 'boolean':
            texts = [text.lower() for text in texts]
        if absent is not None:
            for row in np.flatnonzero(absent):
                texts[row] = ''
        columns.texts[self._name] = texts

    def _strings(self, data: bytes, lists: Lists, columns: Columns) -> None:
        strings = lists[self._number]
        if self._may_be_absent:
            strings = [b'' if string == -1 else string for string in strings]
        columns.texts[self._name] = decode(strings)

    def _hexadecimal(self, data: bytes, lists: Lists, columns: Columns) -> None:
        lengths = lists[self._counts[-1]]
        columns.texts[self._name] = hexadecimal(data, lists[self._number], lengths)
