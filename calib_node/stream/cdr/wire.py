# SPDX-License-Identifier: Apache-2.0
"""How the fields of a message lie in its serialized bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

from calib_node.stream.definitions import Definitions, Kind, parse_kind

CODES = {
    'boolean': '?',
    'octet': 'B',
    'int8': 'b',
    'uint8': 'B',
    'int16': 'h',
    'uint16': 'H',
    'int32': 'i',
    'uint32': 'I',
    'int64': 'q',
    'uint64': 'Q',
    'float': 'f',
    'double': 'd',
}
"""Of the numbers, those of the module struct."""
WIDTHS = {name: Struct('<' + code).size for name, code in CODES.items()}
"""Bytes of a number, which is its alignment too."""
LARGEST = 8
MOST_PIECES = 256
DEEPEST = 16
PLACEHOLDER = {'structure_needs_at_least_one_member': 'uint8'}
"""What rosidl puts into a message without fields."""
SEQUENCE_BOUND = re.compile(r'sequence<.+, *(\d+)>')
STRING_BOUND = re.compile(r'string<(\d+)>')


class Unsupported(Exception):
    """A definition that no walk is written for."""


@dataclass(frozen=True)
class Member:
    """A field of a message.

    Attributes
    ----------
    name : str
    kind : Kind
    most : int or None
        Bound of a sequence.
    longest : int or None
        Bound of a string.
    """

    name: str
    kind: Kind
    most: int | None
    longest: int | None


@dataclass(frozen=True)
class Block:
    """An element of fixed size whose first number is as wide as its widest.

    So that each element of an array is a constant number of bytes after the last.

    Attributes
    ----------
    alignment : int
        Of its first number.
    size : int
        Bytes from its first number to the end of its last.
    """

    alignment: int
    size: int

    @property
    def stride(self) -> int:
        """Bytes from an element to the next."""
        return align(self.size, self.alignment)


Pieces = Sequence[tuple[int, int]]


def align(position: int, alignment: int) -> int:
    """Return the next position of an alignment.

    Examples
    --------
    >>> align(9, 4), align(12, 4)
    (12, 12)
    """
    return (position + alignment - 1) & -alignment


class Wire:
    """The layout of messages and what they consist of.

    Parameters
    ----------
    definitions : Definitions
        The message types there are.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._members: dict[str, list[Member]] = {}
        self._pieces: dict[str, Pieces | None] = {}

    def members(self, type_name: str) -> list[Member]:
        """Return the fields of a message type.

        Raises
        ------
        Unsupported
            If there is no such type.
        """
        if type_name not in self._members:
            try:
                fields = self._definitions.fields(type_name) or PLACEHOLDER
            except ValueError as error:
                raise Unsupported(str(error)) from None
            self._members[type_name] = [_member(name, text) for name, text in fields.items()]
        return self._members[type_name]

    def pieces(self, name: str, depth: int = 0) -> Pieces | None:
        """Return alignment and size of each number in a type, or None if its size may vary."""
        if name in WIDTHS:
            return [(WIDTHS[name], WIDTHS[name])]
        if '/' not in name:
            return None
        if depth > DEEPEST:
            raise Unsupported(f'{name} is nested more than {DEEPEST} levels deep')
        if name not in self._pieces:
            self._pieces[name] = self._pieces_of_fields(name, depth)
        return self._pieces[name]

    def _pieces_of_fields(self, name: str, depth: int) -> Pieces | None:
        found: list[tuple[int, int]] = []
        for member in self.members(name):
            kind = member.kind
            inner = self.pieces(kind.name, depth + 1)
            if inner is None or (kind.is_array and kind.size is None):
                return None
            if kind.size is not None and kind.name in WIDTHS:
                inner = [(WIDTHS[kind.name], WIDTHS[kind.name] * kind.size)]
            elif kind.size is not None:
                inner = [piece for _ in range(min(kind.size, MOST_PIECES)) for piece in inner]
            found.extend(inner)
            if len(found) > MOST_PIECES:
                return None
        return found

    def block(self, name: str) -> Block | None:
        """Return a type as the element of a regular array, or None if it is none."""
        pieces = self.pieces(name)
        if pieces is None or pieces[0][0] != max(alignment for alignment, _ in pieces):
            return None
        size = 0
        for alignment, width in pieces:
            size = align(size, alignment) + width
        return Block(pieces[0][0], size)


def _member(name: str, text: str) -> Member:
    return Member(name, parse_kind(text), _bound(SEQUENCE_BOUND, text), _bound(STRING_BOUND, text))


def _bound(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None


def as_bytes(text: str) -> bytes:
    """Return a text as it lies in a message; raise Unsupported where it cannot."""
    if '\ufffd' in text:
        # Bytes that are no text are read as this.
        raise Unsupported(f'{text!r} is compared')
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Unsupported(f'{text!r} is compared') from None
