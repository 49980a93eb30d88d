# SPDX-License-Identifier: Apache-2.0
"""Message types, messages and paths into them, drawn at random."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

from calib_node.stream.columns import VALUE, Column, Form, Layout
from calib_node.stream.definitions import FLOATS, INTEGERS, Definitions, Kind, parse_kind
from calib_node.stream.paths import LEVELS, Path, check_path

from .plain_cdr import CODES, Tables, held

NAMES = ('', 'a', 'car', 'élan', 'a longer')
LONGEST = 3
ROOT = 'r/Root'
STAMP = ('sec', 'nanosec')
WRITABLE = (*FLOATS, *INTEGERS)


def random_tables(random: Random) -> Tables:
    """Return some message types, the last of which, `ROOT`, holds others."""
    tables: dict[str, dict[str, str]] = {}
    for number in range(random.randrange(1, 5)):
        fields = range(random.choice((0, 1, 2, 2, 3, 3, 4)))
        # Those of fixed size are passed in one step, if they are regular.
        drawn = random.choice((_random_type, _random_numbers))
        tables[f'r/T{number}'] = {f'f{i}': drawn(random, list(tables)) for i in fields}
    others = list(tables)
    tables[ROOT] = {f'f{i}': _random_type(random, others) for i in range(1, random.randrange(2, 6))}
    tables[ROOT] |= {'sec': 'int32', 'nanosec': 'uint32'}
    return Tables(tables)


def _random_type(random: Random, others: list[str]) -> str:
    one = random.choice([random.choice(list(CODES)), 'string', 'string<8>', *others[-2:] * 2])
    array = random.choice(['{}', '{}', 'sequence<{}>', 'sequence<{}>', 'sequence<{}, 3>', '{}[2]'])
    return array.format(one)


def _random_numbers(random: Random, _: list[str]) -> str:
    return random.choice(('{}', '{}', '{}[2]')).format(random.choice(list(CODES)))


def random_value(random: Random, tables: Definitions, text: str) -> Any:
    """Return a message, an array or a number of a type as rosidl writes it."""
    kind = parse_kind(text)
    if kind.is_array:
        bound = re.search(r', *(\d+)>$', text)
        most = min(LONGEST, int(bound[1])) if bound else LONGEST
        length = random.randrange(most + 1) if kind.size is None else kind.size
        return held([random_value(random, tables, kind.name) for _ in range(length)], kind)
    if kind.is_message:
        fields = tables.fields(kind.name)
        values = {name: random_value(random, tables, field) for name, field in fields.items()}
        return SimpleNamespace(**values)
    if kind.name == 'string':
        return random.choice(NAMES)
    if random.random() < 0.5 and kind.name not in ('boolean', 'octet'):
        return random.choice((0, 1))
    code = '<' + CODES[kind.name]
    value = struct.unpack(code, random.randbytes(struct.calcsize(code)))[0]
    # Signalling NaN become quiet ones as they are read as objects.
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def random_layout(
    random: Random, tables: Definitions, type_name: str = ROOT, stamp: Sequence[str] = STAMP
) -> Layout | None:
    """Return some columns of the messages, or None where they have none that are read."""

    def path(text: str) -> Path:
        return check_path(tables, type_name, text, 'a.field')

    paths = [path(text) for text, _ in _paths(random, tables, Kind(type_name), '', 0)]
    columns = [column for path in paths for column in _columns(path)]
    values = [c for c in columns if c.form is Form.NUMBER and c.path.kind.name in WRITABLE]
    if not values:
        return None
    value = random.choice(values)
    others = [c for c in columns if c.path.fan_out <= value.path.fan_out]
    chosen = random.sample(others, min(len(others), random.randrange(4)))
    named = [Column(f'{c.path.text} {i}', c.path, c.form) for i, c in enumerate(chosen)]
    leading = Column(VALUE, value.path, value.form)
    return Layout(type_name, (leading, *named), tuple(map(path, stamp)) or None)


def _columns(path: Path) -> Iterator[Column]:
    kind = path.kind
    if kind.is_array:
        if kind.name in ('uint8', 'octet'):
            yield Column('', path, Form.TEXT)
        return
    if kind.name != 'string':
        yield Column('', path, Form.NUMBER)
    if kind.name not in FLOATS:
        yield Column('', path, Form.TEXT)


def _paths(
    random: Random, tables: Definitions, kind: Kind, text: str, levels: int
) -> Iterator[tuple[str, Kind]]:
    """Yield paths to numbers, strings and arrays of them, not all that there are."""
    if not kind.is_message:
        yield text, kind
    if kind.is_array:
        steps = [f'[{random.randrange(kind.size or LONGEST)}]']
        if levels < LEVELS:
            steps.append('[]')
        if kind.is_message and (told := _told(random, tables, kind.name)):
            steps.append(told)
        for step in random.sample(steps, min(2, len(steps))):
            inner = levels + (step == '[]')
            yield from _paths(random, tables, Kind(kind.name), text + step, inner)
    elif kind.is_message:
        fields = {name: parse_kind(kind) for name, kind in tables.fields(kind.name).items()}
        for name, field in fields.items():
            path = f'{text}.{name}' if text else name
            yield from _paths(random, tables, field, path, levels)
            for beside, names in fields.items():
                if field.is_array and not field.is_message and names.is_array and beside != name:
                    value = _text(random, names.name)
                    if value is not None:
                        yield f'{path}[{beside}={value}]', Kind(field.name)


def _told(random: Random, tables: Definitions, element: str) -> str:
    """Return a step to the element that a field tells, if one can."""
    fields = {name: parse_kind(kind) for name, kind in tables.fields(element).items()}
    plain = [name for name, kind in fields.items() if not kind.is_array and not kind.is_message]
    if not plain:
        return ''
    name = random.choice(plain)
    return f'[{name}={_text(random, fields[name].name)}]'


def _text(random: Random, name: str) -> str | None:
    if name == 'string':
        return random.choice(NAMES)
    return random.choice(('0', '1')) if name in CODES else None
