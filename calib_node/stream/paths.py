# SPDX-License-Identifier: Apache-2.0
"""Paths into messages, checked to their last step against the definitions of their types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from calib_node.core.refusal import nearest_name
from calib_node.stream.definitions import (
    FLOATS,
    INTEGERS,
    NAMES,
    TRUTHS,
    Definitions,
    Kind,
    parse_kind,
)

NAME = r'[A-Za-z]\w*'
NAMED = rf'{NAME}(?:\.{NAME})*'
PATH = re.compile(rf'{NAME}(?:\.{NAME}|\[\d*\]|\[{NAMED}=[^\[\]]*\])*')
STEP = re.compile(
    rf'\[(?P<each>)\]|\[(?P<index>\d+)\]|\[(?P<where>{NAMED})=(?P<text>[^\]]*)\]'
    rf'|\.?(?P<name>{NAME})'
)
LEVELS = 2
"""As many ``[]`` as a path may have."""
EXAMPLE = 'detections[].results[0].hypothesis.score'
TRUE = ('true', 'True', '1')
FALSE = ('false', 'False', '0')


@dataclass(frozen=True)
class Field:
    """To a field of a message."""

    name: str


@dataclass(frozen=True)
class At:
    """To one element of an array; there may be none, as the array may be shorter."""

    index: int


@dataclass(frozen=True)
class Each:
    """To each element of an array."""


@dataclass(frozen=True)
class Where:
    """To the first element of an array that is told by one of its fields; there may be none.

    Attributes
    ----------
    path : tuple of str
        From the element to the field; where `beside`, from the message that holds the array to
        another array, whose element of the same index is compared.
    text : str
        As written.
    wanted : int, float or str
        What the field must be equal to, in its own type; a truth value is 1 or 0.
    beside : bool
        Whether the elements are no messages, so that an array beside theirs tells which one.
    """

    path: tuple[str, ...]
    text: str
    wanted: float | str = ''
    beside: bool = False


Step = Field | At | Each | Where


@dataclass(frozen=True)
class Path:
    """A path that there is.

    Attributes
    ----------
    text : str
        As written.
    steps : tuple of Field, At, Each and Where
        From the message on.
    kind : Kind
        The type of what it leads to.
    """

    text: str
    steps: tuple[Step, ...]
    kind: Kind

    @property
    def fan_out(self) -> int:
        """At how many levels it leads to each element."""
        return self.steps.count(Each())

    @property
    def arrays(self) -> tuple[tuple[Step, ...], ...]:
        """The steps up to each array whose every element it leads to, the outer one first."""
        ends = [number for number, step in enumerate(self.steps) if step == Each()]
        return tuple(self.steps[:end] for end in ends)

    @property
    def plain(self) -> list[str | int] | None:
        """Its steps as names and indices; None where it has others."""
        steps: list[str | int] = []
        for step in self.steps:
            if isinstance(step, Field):
                steps.append(step.name)
            elif isinstance(step, At):
                steps.append(step.index)
            else:
                return None
        return steps

    def each(self) -> Path:
        """Return the path to each element of the array that it leads to."""
        return Path(f'{self.text}[]', (*self.steps, Each()), Kind(self.kind.name))

    def at(self, index: int) -> Path:
        """Return the path to one element of the array that it leads to."""
        return Path(f'{self.text}[{index}]', (*self.steps, At(index)), Kind(self.kind.name))


def parse_path(text: str) -> tuple[Step, ...]:
    """Return the steps of a path.

    Fields are written as in ``ros2 topic echo --field``; ``[3]`` is one element of an array,
    ``[]`` each, and ``[hypothesis.class_id=person]`` the first whose field has that value.

    Raises
    ------
    ValueError
        If it is written otherwise.

    Examples
    --------
    >>> parse_path('results[0].score')
    (Field(name='results'), At(index=0), Field(name='score'))
    >>> parse_path('position[name=elbow]')[1].path
    ('name',)
    """
    if not PATH.fullmatch(text):
        raise ValueError(f'{text!r} is not a field path such as {EXAMPLE}')
    return tuple(_steps(text))


def _steps(text: str) -> Iterator[Step]:
    for found in STEP.finditer(text):
        if found['name'] is not None:
            yield Field(found['name'])
        elif found['where'] is not None:
            yield Where(tuple(found['where'].split('.')), found['text'])
        else:
            yield At(int(found['index'])) if found['index'] else Each()


def check_path(definitions: Definitions, type_name: str, text: str, parameter: str) -> Path:
    """Return a path, checked to its last step.

    Parameters
    ----------
    definitions : Definitions
        The message types there are.
    type_name : str
        Of the message that the path starts in.
    text : str
        As configured.
    parameter : str
        Its name, for the sentence.

    Raises
    ------
    ValueError
        If the path does not exist in the definition, in a sentence for the operator.
    """
    try:
        return _Check(definitions, text).path(type_name)
    except ValueError as error:
        raise ValueError(f'{parameter}: {error}') from None


class _Check:
    def __init__(self, definitions: Definitions, text: str) -> None:
        self.definitions = definitions
        self.text = text

    def path(self, type_name: str) -> Path:
        steps: list[Step] = list(parse_path(self.text))
        if steps.count(Each()) > LEVELS:
            raise ValueError(
                f'{self.text!r} has {steps.count(Each())} levels of [], and at most {LEVELS} can '
                'be read: name one element of the others, such as [0]'
            )
        kind = above = Kind(type_name)
        for number, step in enumerate(steps):
            if isinstance(step, Field):
                above, kind = kind, self._field(kind, step.name)
                continue
            if not kind.is_array:
                raise ValueError(f'{self.text!r} has {_shown(step)} where there is no array')
            if isinstance(step, At) and kind.size is not None and step.index >= kind.size:
                raise ValueError(f'{self.text!r} goes beyond an array of {kind.size}')
            if isinstance(step, Where):
                steps[number] = self._where(kind, above, step)
            kind = Kind(kind.name)
        return Path(self.text, tuple(steps), kind)

    def _field(self, kind: Kind, name: str) -> Kind:
        if kind.is_array:
            raise ValueError(
                f'{self.text!r} asks an array for its field {name!r}; name the element, '
                f'such as [0].{name}, or [].{name} for each'
            )
        known = self.definitions.fields(kind.name) if kind.is_message else {}
        if name not in known:
            raise ValueError(
                f'{self.text!r} has no field {name!r}{nearest_name(name, known)} '
                f'(fields here: {", ".join(known) or "none"})'
            )
        return parse_kind(known[name])

    def _where(self, array: Kind, above: Kind, step: Where) -> Where:
        """Return a condition with what its field must be equal to."""
        beside = not array.is_message
        kind = above if beside else Kind(array.name)
        for name in step.path:
            kind = self._field(kind, name)
        told_by = '.'.join(step.path)
        if kind.is_array is not beside or kind.is_message:
            wanted = f'an array of names beside that of {array.name}' if beside else 'one value'
            raise ValueError(
                f'{self.text!r} tells elements by {told_by!r}, which is {kind} and not {wanted}'
            )
        try:
            value = _in_type_of(kind.name, step.text)
        except ValueError:
            raise ValueError(
                f'{self.text!r} compares {told_by!r}, which is {kind.name}, with {step.text!r}'
            ) from None
        return Where(step.path, step.text, value, beside)


def _shown(step: Step) -> str:
    if isinstance(step, At):
        return 'an index'
    return f'[{".".join(step.path)}={step.text}]' if isinstance(step, Where) else '[]'


def _in_type_of(name: str, text: str) -> float | str:
    if name in NAMES:
        return text
    if name in TRUTHS and text in TRUE + FALSE:
        return int(text in TRUE)
    if name in INTEGERS or name in TRUTHS:
        return int(text)
    if name in FLOATS:
        return float(text)
    raise ValueError(name)


def same_arrays(first: Path, second: Path) -> bool:
    """Return whether paths lead to elements of the same arrays, at the levels that both have.

    Those of different arrays can be read together only where these have the same lengths.
    """
    return all(one == other for one, other in zip(first.arrays, second.arrays))
