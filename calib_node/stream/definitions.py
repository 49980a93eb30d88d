# SPDX-License-Identifier: Apache-2.0
"""The definitions of messages: their fields, and the types of these."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# As rosidl writes the types of fields.
SEQUENCE = re.compile(r'sequence<(.+?)(?:, *\d+)?>')
FIXED_ARRAY = re.compile(r'(.+)\[(\d+)\]')
BOUNDED_STRING = re.compile(r'(w?string)<\d+>')

FLOATS = ('float', 'double')
INTEGERS = ('char', *(f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64)))
NAMES = ('string', 'wstring')
TRUTHS = ('boolean', 'octet')
LABELS = (*FLOATS, *INTEGERS, *NAMES, *TRUTHS)
TIME = 'builtin_interfaces/Time'

Steps = Sequence[str | int]


class Definitions(Protocol):
    """The message types of an installation or of a recording."""

    def fields(self, type_name: str) -> Mapping[str, str]:
        """Return the fields of a message type with their types as rosidl writes them.

        Raises
        ------
        ValueError
            If there is no such type, in a sentence for the operator.
        """


class Messages(Definitions, Protocol):
    """The message types there are, and how their bytes are read."""

    def deserializer(self, type_name: str) -> Callable[[bytes], Any]:
        """Return what makes message objects of serialized bytes."""


@dataclass(frozen=True)
class Kind:
    """The type of a field.

    Attributes
    ----------
    name : str
        Of the field, or of the elements of an array.
    is_array : bool
        Whether it is an array.
    size : int or None
        Length of an array of fixed size.
    """

    name: str
    is_array: bool = False
    size: int | None = None

    @property
    def is_message(self) -> bool:
        """Whether it has fields of its own."""
        return '/' in self.name

    def __str__(self) -> str:
        if not self.is_array:
            return self.name
        return f'{self.name}[{"" if self.size is None else self.size}]'


def parse_kind(text: str) -> Kind:
    """Return the type of a field.

    Examples
    --------
    >>> parse_kind('sequence<geometry_msgs/Point>'), str(parse_kind('double[36]'))
    (Kind(name='geometry_msgs/Point', is_array=True, size=None), 'double[36]')
    """
    if sequence := SEQUENCE.fullmatch(text):
        return Kind(_plain(sequence[1]), is_array=True)
    if array := FIXED_ARRAY.fullmatch(text):
        return Kind(_plain(array[1]), is_array=True, size=int(array[2]))
    return Kind(_plain(text))


def _plain(name: str) -> str:
    bounded = BOUNDED_STRING.fullmatch(name)
    return bounded[1] if bounded else name


def follow(value: Any, steps: Steps) -> Any:
    """Return what a path of names and indices leads to in a message.

    Raises
    ------
    IndexError
        If it leads beyond the end of an array.
    """
    for step in steps:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value
