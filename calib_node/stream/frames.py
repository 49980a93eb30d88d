# SPDX-License-Identifier: Apache-2.0
"""Messages of many objects to frames, and the corrected message back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calib_node.core.matching.places import has_place
from calib_node.core.refusal import Refused, brief
from calib_node.core.samples import Frame, LabelFrame
from calib_node.stream.classes import Placement, by_names, in_order
from calib_node.stream.codec import to_stamp
from calib_node.stream.columns import (
    BOX,
    CLASS,
    CONTEXT,
    ID,
    POSITION,
    SIZED_BOX,
    VALUE,
    Bools,
    Columns,
    Floats,
    Form,
    Reader,
    spread,
)
from calib_node.stream.input_parameters import ContextVariable
from calib_node.stream.labels import LabelReader
from calib_node.stream.numbers import Numbers

Texts = Sequence[str]


class FrameCodec:
    """Reads predictions of many objects, and writes the calibrated ones.

    Parameters
    ----------
    reader : Reader
        Reads the columns.
    numbers : Numbers
        What the numbers mean.
    classes : int
        Number of probabilities of an object.
    class_names : sequence of str
        Where each number has the class beside it that it is of, the names in their order; empty:
        the numbers of an object are in the order of the classes.
    share : bool
        Whether classes that are left out share what is left of 1; otherwise the object counts as
        no opinion.
    contexts : sequence of ContextVariable
        The context variables in their order.
    """

    def __init__(
        self,
        reader: Reader,
        numbers: Numbers,
        classes: int = 1,
        class_names: Sequence[str] = (),
        share: bool = True,
        contexts: Sequence[ContextVariable] = (),
    ) -> None:
        self.reader = reader
        self.type_name = reader.layout.type_name
        self.serialized = reader.serialized
        self._numbers = numbers
        self._classes = classes
        self._index = {name: k for k, name in enumerate(class_names)}
        self._share = share
        self._rows = _Rows(reader, inner=classes > 1, named=not class_names)
        self._contexts = [_context_reader(self._rows, variable) for variable in contexts]

    def decode(self, message: Any) -> tuple[Frame, Any]:
        """Return what a message says, and what to encode into.

        Raises
        ------
        Refused
            If the message as a whole is not what it should be.
        """
        columns = self.reader.read(message)
        stamp = self._rows.stamp(columns)
        given = columns.numbers[VALUE]
        nothing = self._numbers.says_nothing(given)
        if columns.absent is not None:
            nothing |= columns.absent
        values = self._numbers.to_probability(given)
        placement = None
        if self._classes == 1:
            frame = Frame(stamp, values, nothing if nothing.any() else None)
        else:
            placement = self._placed(values, nothing, columns)
            frame = Frame(stamp, placement.values, placement.absent, placement.refused)
        frame.keys, frame.names = self._rows.keys(columns), self._rows.names(columns)
        frame.places = self._rows.places(columns)
        if self._contexts:
            frame.contexts = list(zip(*(read(columns) for read in self._contexts)))
        return frame, (columns, placement)

    def _placed(self, values: Floats, nothing: Bools, columns: Columns) -> Placement:
        sizes = columns.sizes if columns.sizes is not None else [columns.count]
        if self._index:
            names = columns.texts[CLASS]
            return by_names(values, nothing, names, sizes, self._index, self._share)
        return in_order(values, nothing, sizes, self._classes)

    def encode(self, carrier: Any, published: Floats, calibrated: Bools) -> Any:
        """Return the message that came in with its calibrated values replaced.

        Parameters
        ----------
        carrier : object
            As decoded.
        published : ndarray of float, shape (n,) or (n, K)
            The probabilities.
        calibrated : ndarray of bool, shape (n,)
            Which objects are to be replaced.
        """
        columns, placement = carrier
        if placement is not None:
            published, calibrated = placement.taken(published, calibrated)
        return self.reader.write(columns, self._numbers.back(published), calibrated)


class LabelFrameCodec:
    """Reads the ground truth of many objects.

    Parameters
    ----------
    reader : Reader
        Reads the columns.
    read : LabelReader
        What a label means.
    by_name : bool
        Whether the class of an object is its label.
    """

    def __init__(self, reader: Reader, read: LabelReader, by_name: bool = False) -> None:
        self.reader = reader
        self.type_name = reader.layout.type_name
        self.serialized = reader.serialized
        self._read = read
        self._by_name = by_name
        self._rows = _Rows(reader)
        first = reader.layout.columns[0]
        self._values = first.form if first.name == VALUE else None

    def decode(self, message: Any) -> LabelFrame:
        """Return what a message says.

        Raises
        ------
        Refused
            If the message as a whole is not what it should be.
        """
        columns = self.reader.read(message)
        frame = LabelFrame(self._rows.stamp(columns), [], by_name=self._by_name)
        frame.keys, frame.names = self._rows.keys(columns), self._rows.names(columns)
        frame.places = self._rows.places(columns)
        frame.values = self._meanings(columns, frame)
        for index, key in enumerate(frame.keys):
            if not key:
                frame.refused.setdefault(index, Refused('empty_id'))
        if frame.places is not None:
            for index in np.flatnonzero(~has_place(frame.places)).tolist():
                if frame.values[index] is not None:
                    found = brief(frame.places[index].tolist())
                    frame.refused.setdefault(index, Refused('bad_place', found))
        return frame

    def _meanings(self, columns: Columns, frame: LabelFrame) -> list[float | None]:
        if self._values is None:
            return self._of_names(columns.count, frame)
        found: Any = columns.texts if self._values is Form.TEXT else columns.numbers
        given = found[VALUE] if self._values is Form.TEXT else found[VALUE].tolist()
        absent = columns.absent
        values: list[float | None] = []
        for index, value in enumerate(given):
            meaning = None
            if absent is None or not absent[index]:
                try:
                    meaning = self._read(value)
                except Refused as refused:
                    frame.refused[index] = refused
            values.append(meaning)
        return values

    def _of_names(self, count: int, frame: LabelFrame) -> list[float | None]:
        """Return the labels of objects that say what they are by their class alone."""
        read, names = self._read, frame.names
        if not read.class_names or not names:
            ignores = read.ignores
            return [None if names and ignores(names[index]) else 1.0 for index in range(count)]
        values: list[float | None] = []
        for index, name in enumerate(names):
            try:
                values.append(read(name))
            except Refused as refused:
                frame.refused[index] = refused
                values.append(None)
        return values


class _Rows:
    """What is told of each object of a message, each column brought to their level.

    Parameters
    ----------
    reader : Reader
        Its layout says what there is.
    inner : bool
        Whether an object has several rows of the leading column.
    named : bool
        Whether the class is that of the object, not of one of its numbers.
    """

    def __init__(self, reader: Reader, inner: bool = False, named: bool = True) -> None:
        layout = reader.layout
        self._layout = layout
        self._level = layout.columns[0].path.fan_out - inner
        self._levels = {column.name: column.path.fan_out for column in layout.columns}
        self._ids = [name for name in self._levels if name.startswith(f'{ID}.')]
        self._named = named and CLASS in self._levels
        self._place = next((p for p in (BOX, SIZED_BOX, POSITION) if f'{p}.0' in self._levels), '')

    def stamp(self, columns: Columns) -> int:
        """Return the stamp in nanoseconds; 0 where it comes from elsewhere."""
        return to_stamp(*columns.stamp) if self._layout.stamp is not None else 0

    def texts(self, columns: Columns, name: str) -> list[str]:
        """Return a column of texts, one for each object."""
        texts: list[str] = spread(columns.texts[name], self._levels[name], columns, self._level)
        return texts

    def numbers(self, columns: Columns, name: str) -> Floats:
        """Return a column of numbers, one or several for each object."""
        several = [c for c in self._levels if c == name or c.rpartition('.')[0] == name]
        found = [spread(columns.numbers[c], self._levels[c], columns, self._level) for c in several]
        return found[0] if several == [name] else np.stack(found, axis=-1)

    def keys(self, columns: Columns) -> Texts:
        """Return the id of each object, empty for one without; () where there are no ids."""
        if len(self._ids) < 2:
            return self.texts(columns, self._ids[0]) if self._ids else ()
        parts = zip(*(self.texts(columns, name) for name in self._ids))
        return ['/'.join(key) if any(key) else '' for key in parts]

    def names(self, columns: Columns) -> Texts:
        """Return the class of each object; () where there are none."""
        return self.texts(columns, CLASS) if self._named else ()

    def places(self, columns: Columns) -> Floats | None:
        """Return the box or the centre of each object."""
        if not self._place:
            return None
        places = self.numbers(columns, self._place)
        if self._place != SIZED_BOX:
            return places
        centres, halves = places[:, :2], places[:, 2:] / 2.0
        return np.concatenate([centres - halves, centres + halves], axis=1)


def _context_reader(rows: _Rows, variable: ContextVariable) -> Callable[[Columns], list[Any]]:
    """Return what reads the values of a context variable, None where it cannot be told."""
    name = f'{CONTEXT}.{variable.name}'
    edges = np.array(variable.edges)

    def texts(columns: Columns) -> list[Any]:
        return [text or None for text in rows.texts(columns, name)]

    def ranges(columns: Columns) -> list[Any]:
        numbers = rows.numbers(columns, name)
        if numbers.ndim > 1:
            # A point: how far away it is.
            numbers = np.sqrt((numbers * numbers).sum(axis=1))
        indices = np.searchsorted(edges, numbers, side='right').tolist()
        return [None if n != n else k for n, k in zip(numbers.tolist(), indices)]

    return ranges if variable.edges else texts
