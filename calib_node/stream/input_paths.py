# SPDX-License-Identifier: Apache-2.0
"""The columns that the paths of an input lead to, each path checked by itself."""

from __future__ import annotations

import re

from calib_node.stream.columns import BOX, CLASS, CONTEXT, ID, POSITION, SIZED_BOX, Column, Form
from calib_node.stream.definitions import (
    FLOATS,
    INTEGERS,
    NAMES,
    TIME,
    TRUTHS,
    Definitions,
    Kind,
    parse_kind,
)
from calib_node.stream.input_parameters import ContextVariable, Input
from calib_node.stream.paths import Field, Path, check_path
from calib_node.stream.settings import Settings

NUMBERS = (*FLOATS, *INTEGERS)
OCTETS = ('uint8', 'octet')
# Not one within brackets.
COMMA = re.compile(r',(?![^\[]*\])')


class InputPaths:
    """The paths of an input, checked one by one.

    Parameters
    ----------
    definitions : Definitions
        The message types there are.
    source : Input
        The parameters of the side.
    settings : Settings
        All parameters.
    side : {'raw', 'label'}
        What their names begin with.
    """

    def __init__(
        self, definitions: Definitions, source: Input, settings: Settings, side: str
    ) -> None:
        self._definitions = definitions
        self._source = source
        self._settings = settings
        self._side = side

    def value(self) -> Path | None:
        """Return the path to the value; None where none is set and the type has no obvious one."""
        path = self._source.value_field
        fields = self._definitions.fields(self._source.type)
        if path:
            return self._check('value_field', path)
        if self._settings.match.objects == 'single' and list(fields) == ['data']:
            return self._check('value_field', 'data')
        return None

    def names(self) -> list[Column]:
        """Return the column of the classes, if there is one."""
        path = self._source.class_field
        return [self._text(CLASS, 'class_field', path, (*NAMES, *INTEGERS))] if path else []

    def objects(self) -> list[Column]:
        """Return the columns that tell one object from another."""
        objects, source = self._settings.match.objects, self._source
        if objects == 'id':
            return [
                self._text(f'{ID}.{number}', 'id_field', path.strip(), (*NAMES, *INTEGERS, *OCTETS))
                for number, path in enumerate(COMMA.split(source.id_field))
            ]
        if objects == 'iou':
            return self._box(self._check('box_field', source.box_field))
        if objects == 'distance':
            path = self._check('position_field', source.position_field)
            return _numbered(POSITION, self._point('position_field', path))
        return []

    def context(self, path_text: str, variable: ContextVariable) -> list[Column]:
        """Return the columns of a context variable: a text, a number, or a point."""
        name, edges = variable.name, variable.edges
        parameter = f'context.{name}.field'
        path = check_path(self._definitions, self._source.type, path_text, parameter)
        column = f'{CONTEXT}.{name}'
        is_text = path.kind.name in (*NAMES, *TRUTHS) and not path.kind.is_array
        if not edges:
            if is_text or (path.kind.name in INTEGERS and not path.kind.is_array):
                return [Column(column, path, Form.TEXT)]
            raise ValueError(
                f'{parameter}: {path_text!r} holds {path.kind}: set context.{name}.edges to the '
                'numbers where one range ends and the next begins'
            )
        if is_text:
            raise ValueError(
                f'{parameter}: {path_text!r} holds {path.kind}, which context.{name}.edges cannot '
                'divide: leave them out'
            )
        if path.kind.name in NUMBERS and not path.kind.is_array:
            return [Column(column, path, Form.NUMBER)]
        return _numbered(column, self._point(parameter, path))

    def stamp(self) -> tuple[Path, Path] | None:
        """Return the paths to seconds and nanoseconds, if the stamp is in the message."""
        source, side = self._source, self._side
        if source.stamping != 'header':
            return None
        if not source.stamp_field and 'header' not in self._definitions.fields(source.type):
            raise ValueError(
                f'{source.type} has no header: set {side}.stamp_field to the field that holds its '
                f'stamp, or {side}.stamping to publication or arrival'
            )
        path = self._check('stamp_field', source.stamp_field or 'header.stamp')
        if path.fan_out:
            raise ValueError(
                f'{side}.stamp_field: {path.text!r} leads to several stamps, and a message has one'
            )
        kind = path.kind
        if kind == Kind(TIME):
            return self._below(path, 'sec'), self._below(path, 'nanosec')
        if kind.is_array and kind.name in INTEGERS and kind.size in (None, 2):
            return path.at(0), path.at(1)
        raise ValueError(
            f'{side}.stamp_field: {path.text!r} is not a {TIME} nor [sec, nanosec], but {kind}'
        )

    def _check(self, name: str, path: str) -> Path:
        return check_path(self._definitions, self._source.type, path, f'{self._side}.{name}')

    def _below(self, path: Path, *names: str) -> Path:
        kind = path.kind
        for name in names:
            kind = parse_kind(self._definitions.fields(kind.name)[name])
        steps = (*path.steps, *(Field(name) for name in names))
        return Path('.'.join([path.text, *names]), steps, kind)

    def _fields(self, kind: Kind) -> dict[str, Kind]:
        if not kind.is_message or kind.is_array:
            return {}
        found = self._definitions.fields(kind.name)
        return {name: parse_kind(text) for name, text in found.items()}

    def _text(self, column: str, name: str, path_text: str, kinds: tuple[str, ...]) -> Column:
        path = self._check(name, path_text)
        is_bytes = path.kind.is_array and path.kind.name in OCTETS and name == 'id_field'
        if not is_bytes and (path.kind.is_array or path.kind.name not in kinds):
            raise ValueError(
                f'{self._side}.{name}: {path_text!r} holds {path.kind}, and not a text or a whole '
                f'number{" or bytes" if name == "id_field" else ""}{for_each(path)}'
            )
        return Column(column, path, Form.TEXT)

    def _box(self, path: Path) -> list[Column]:
        if path.kind.is_array and path.kind.name in NUMBERS and path.kind.size in (None, 4):
            return _numbered(BOX, [path.at(index) for index in range(4)])
        fields = self._fields(path.kind)
        if {'center', 'size_x', 'size_y'} <= set(fields):
            centre = self._point('box_field', self._below(path, 'center'))
            sizes = [self._below(path, name) for name in ('size_x', 'size_y')]
            return _numbered(SIZED_BOX, centre[:2] + sizes)
        raise ValueError(
            f'{self._side}.box_field: {path.text!r} holds {path.kind}, and a box is a message with '
            'center, size_x and size_y, or the four numbers [x0, y0, x1, y1]'
        )

    def _point(self, parameter: str, path: Path) -> list[Path]:
        """Return the paths to the two or three coordinates of a point."""
        kind = path.kind
        if kind.is_array and kind.name in NUMBERS and kind.size in (2, 3):
            return [path.at(index) for index in range(kind.size)]
        fields = self._fields(kind)
        for inner in ('center', 'pose', 'position'):
            if inner in fields and 'x' not in fields:
                return self._point(parameter, self._below(path, inner))
        axes = [axis for axis in 'xyz' if axis in fields and fields[axis].name in NUMBERS]
        if axes[:2] == ['x', 'y']:
            return [self._below(path, axis) for axis in axes]
        if '.' not in parameter:
            parameter = f'{self._side}.{parameter}'
        raise ValueError(
            f'{parameter}: {path.text!r} holds {kind}, and a point is a message with x and y, or '
            'an array of 2 or 3 numbers'
        )


def _numbered(name: str, paths: list[Path]) -> list[Column]:
    return [Column(f'{name}.{number}', path, Form.NUMBER) for number, path in enumerate(paths)]


def for_each(path: Path) -> str:
    """Return the hint, to be added to a sentence, that a path leads to an array."""
    return f'; {path.text}[] is each of them' if path.kind.is_array else ''
