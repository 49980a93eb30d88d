# SPDX-License-Identifier: Apache-2.0
"""Paths of fields, checked to their last step against the definitions of messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from calib_node.core.refusal import nearest_name

PATH = re.compile(r'[A-Za-z]\w*(?:\.[A-Za-z]\w*|\[\d+\])*')
STEP = re.compile(r'[A-Za-z]\w*|\d+')
# As rosidl writes the types of fields.
SEQUENCE = re.compile(r'sequence<(.+?)(?:, *\d+)?>')
FIXED_ARRAY = re.compile(r'(.+)\[(\d+)\]')
BOUNDED_STRING = re.compile(r'(w?string)<\d+>')

FLOATS = ('float', 'double')
INTEGERS = ('char', *(f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64)))
NAMES = ('string', 'wstring')
LABELS = (*FLOATS, *INTEGERS, *NAMES, 'boolean', 'octet')
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


def parse_path(path: str) -> list[str | int]:
    """Return the steps of a field path, as in ``ros2 topic echo --field``.

    Examples
    --------
    >>> parse_path('results[0].hypothesis.score')
    ['results', 0, 'hypothesis', 'score']
    """
    if not PATH.fullmatch(path):
        raise ValueError(f'{path!r} is not a field path such as results[0].hypothesis.score')
    return [int(step) if step.isdigit() else step for step in STEP.findall(path)]


def check_path(
    definitions: Definitions, type_name: str, path: str, parameter: str
) -> tuple[list[str | int], Kind]:
    """Return the steps of a path and the type of what it leads to.

    Parameters
    ----------
    definitions : Definitions
        The message types there are.
    type_name : str
        Of the message that the path starts in.
    path : str
        As configured.
    parameter : str
        Its name, for the sentence.

    Raises
    ------
    ValueError
        If the path does not exist in the definition.
    """
    try:
        steps = parse_path(path)
    except ValueError as error:
        raise ValueError(f'{parameter}: {error}') from None
    kind = Kind(type_name)
    for step in steps:
        if isinstance(step, int):
            if not kind.is_array:
                raise ValueError(f'{parameter}: {path!r} has an index where there is no array')
            if kind.size is not None and step >= kind.size:
                raise ValueError(f'{parameter}: {path!r} goes beyond an array of {kind.size}')
            kind = Kind(kind.name)
            continue
        if kind.is_array:
            raise ValueError(
                f'{parameter}: {path!r} asks an array for its field {step!r}; name the element, '
                f'such as [0].{step}'
            )
        known = definitions.fields(kind.name) if kind.is_message else {}
        if step not in known:
            hint = nearest_name(step, known)
            raise ValueError(
                f'{parameter}: {path!r} has no field {step!r}{hint} '
                f'(fields here: {", ".join(known) or "none"})'
            )
        kind = parse_kind(known[step])
    return steps, kind


def follow(value: Any, steps: Steps) -> Any:
    """Return what a path leads to in a message.

    Raises
    ------
    IndexError
        If it leads beyond the end of an array.
    """
    for step in steps:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value
