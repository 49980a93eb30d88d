# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the objects of messages in their serialized bytes."""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

from calib_node.core.refusal import Refused
from calib_node.stream.cdr.columns import WalkedColumn, steps_to
from calib_node.stream.cdr.program import HEADER, Lists, Program, Unknown
from calib_node.stream.cdr.values import Index, as_array, as_numbers
from calib_node.stream.cdr.wire import CODES, Unsupported
from calib_node.stream.columns import Bools, Columns, Floats, Layout
from calib_node.stream.definitions import INTEGERS, Messages
from calib_node.stream.object_reader import ObjectReader


class Place(NamedTuple):
    """Where the values are that may be written over.

    Attributes
    ----------
    data : bytes
        The message.
    where : slice or ndarray of int64
        In it, as one array of their type.
    """

    data: bytes
    where: Index


class SerializedReader:
    """Reads and writes the objects of messages in their serialized bytes, as `Reader`.

    Bytes that are not known to be plain little-endian CDR of the message are read as an object.

    Parameters
    ----------
    messages : Messages
        The message types there are.
    layout : Layout
        What is read.

    Attributes
    ----------
    source : str
        Of the walk over the bytes.

    Raises
    ------
    Unsupported
        If there is something in the messages that no walk is written for.
    """

    serialized = True

    def __init__(self, messages: Messages, layout: Layout) -> None:
        self.layout = layout
        self._deserialize = messages.deserializer(layout.type_name)
        self._objects = ObjectReader(layout)
        stamp = layout.stamp or ()
        paths = [*map(steps_to, layout.columns), *(path.steps for path in stamp)]
        program = Program(messages, layout.type_name, paths)
        self.source = program.source
        self._walk = program.run
        self._columns = [
            WalkedColumn(column, program, number) for number, column in enumerate(layout.columns)
        ]
        if any(path.kind.is_array or path.kind.name not in INTEGERS for path in stamp):
            raise Unsupported('a stamp that is not of whole numbers')
        self._stamp = [
            (number, Struct('<' + CODES[path.kind.name]))
            for number, path in enumerate(stamp, len(self._columns))
        ]
        # Kept, since large memory that is taken anew for each message costs more than all else.
        self._copy = bytearray()
        self._type = layout.columns[0].path.kind.name

    def read(self, message: bytes) -> Columns:
        """As in `Reader`; the carrier is an object where the bytes are not understood."""
        try:
            return self._read(message)
        except Unknown:
            return self._objects.read(self._object(message))

    def _object(self, message: bytes) -> Any:
        try:
            return self._deserialize(message)
        except Exception as error:
            # There is no narrower type for bytes that are not the message.
            raise Refused('undecodable', error) from None

    def _read(self, data: bytes) -> Columns:
        lists = self._walk(data)
        leader = self._columns[0]
        lengths = [lists[level] for level in leader.levels]
        columns = Columns(
            stamp=self._stamp_of(data, lists),
            count=sum(lengths[-1]) if lengths else 1,
            sizes=lengths[1] if len(lengths) > 1 else None,
            absent=leader.absent(lists),
        )
        index = leader.read(data, lists, columns)
        if index is not None:
            columns.carrier = Place(data, index)
        for column in self._columns[1:]:
            for level, own in zip(leader.levels, column.levels):
                if level != own and lists[level] != lists[own]:
                    # The refusal is that of the object.
                    raise Unknown
            column.read(data, lists, columns)
        return columns

    def _stamp_of(self, data: bytes, lists: Lists) -> tuple[int, int]:
        if not self._stamp:
            return 0, 0
        places = [(lists[number][0], number_at) for number, number_at in self._stamp]
        if any(place < 0 for place, _ in places):
            raise Unknown
        seconds, nanoseconds = (
            number_at.unpack_from(data, HEADER + place)[0] for place, number_at in places
        )
        return seconds, nanoseconds

    def write(self, columns: Columns, values: Floats, which: Bools) -> Any:
        """As in `Reader`."""
        place = columns.carrier
        if not isinstance(place, Place):
            return self._objects.write(columns, values, which)
        self._copy[:] = place.data
        numbers = as_array(self._copy, self._type)
        chosen = as_numbers(values[which], self._type)
        if isinstance(place.where, slice):
            numbers[place.where][which] = chosen
        else:
            numbers[place.where[which]] = chosen
        return bytes(self._copy)
