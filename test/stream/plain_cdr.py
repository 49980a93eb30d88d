# SPDX-License-Identifier: Apache-2.0
"""Plain CDR, as Fast DDS writes it and, little-endian, reads it: by the book, and slow.

Written apart from the walk over serialized bytes, to hold it to. Objects are as rclpy makes them.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from calib_node.stream.definitions import Definitions, Kind, parse_kind

HEADER = b'\x00\x01\x00\x00'
BIG_ENDIAN_HEADER = bytes(4)
CODES = {
    'boolean': '?', 'octet': 'c', 'float': 'f', 'double': 'd',
    'int8': 'b', 'int16': 'h', 'int32': 'i', 'int64': 'q',
    'uint8': 'B', 'uint16': 'H', 'uint32': 'I', 'uint64': 'Q',
}  # fmt: skip
LISTS = ('boolean', 'octet', 'string')


class Tables:
    """Message types as tables, whose bytes can be read."""

    def __init__(self, tables: Mapping[str, Mapping[str, str]]) -> None:
        self.tables = tables

    def fields(self, type_name: str) -> Mapping[str, str]:
        try:
            return self.tables[type_name]
        except KeyError:
            raise ValueError(f'there is no message type {type_name!r} here') from None

    def deserializer(self, type_name: str) -> Any:
        return lambda data: deserialize(self, type_name, data)


def serialize(
    definitions: Definitions, type_name: str, message: Any, padding: int = 0, order: str = '<'
) -> bytes:
    """Return the bytes of a message, each byte of padding the same, little- or big-endian."""
    writer = _Writer(definitions, padding, order)
    writer.value(Kind(type_name), message)
    return (HEADER if order == '<' else BIG_ENDIAN_HEADER) + bytes(writer.data)


class _Writer:
    def __init__(self, definitions: Definitions, padding: int, order: str) -> None:
        self.definitions = definitions
        self.padding = padding
        self.order = order
        self.data = bytearray()

    def number(self, name: str, value: Any) -> None:
        packed = struct.pack(self.order + CODES[name], value)
        while len(self.data) % len(packed):
            self.data.append(self.padding)
        self.data += packed

    def value(self, kind: Kind, value: Any) -> None:
        if kind.is_array:
            if kind.size is None:
                self.number('uint32', len(value))
            for element in value:
                self.value(Kind(kind.name), element)
        elif kind.name == 'string':
            encoded = value.encode() + b'\0'
            self.number('uint32', len(encoded))
            self.data += encoded
        elif kind.is_message:
            fields = self.definitions.fields(kind.name)
            for name, text in fields.items():
                self.value(parse_kind(text), getattr(value, name))
            if not fields:
                self.number('uint8', 0)
        else:
            self.number(kind.name, value)


def deserialize(definitions: Definitions, type_name: str, data: bytes) -> Any:
    """Return the message, or raise ValueError."""
    if data[:2] != HEADER[:2] or len(data) < 4:
        raise ValueError('another encapsulation')
    return _Reader(definitions, data[4:]).value(Kind(type_name))


class _Reader:
    def __init__(self, definitions: Definitions, data: bytes) -> None:
        self.definitions = definitions
        self.data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        if self.position + size > len(self.data):
            raise ValueError('too short')
        self.position += size
        return self.data[self.position - size : self.position]

    def number(self, name: str) -> Any:
        form = struct.Struct('<' + CODES[name])
        while self.position % form.size:
            self.position += 1
        return form.unpack(self.take(form.size))[0]

    def value(self, kind: Kind) -> Any:
        if kind.is_array:
            return self.array(kind)
        if kind.name == 'string':
            return self.take(self.number('uint32')).split(b'\0')[0].decode('utf-8', 'replace')
        if kind.is_message:
            fields = self.definitions.fields(kind.name)
            if not fields:
                self.take(1)
            values = {name: self.value(parse_kind(text)) for name, text in fields.items()}
            return SimpleNamespace(**values)
        return self.number(kind.name)

    def array(self, kind: Kind) -> Any:
        length = self.number('uint32') if kind.size is None else kind.size
        if length > len(self.data) - self.position:
            raise ValueError('too short')
        return held([self.value(Kind(kind.name)) for _ in range(length)], kind)


def held(values: list[Any], kind: Kind) -> Any:
    """Return the elements of an array in what rclpy holds them in."""
    if kind.is_message or kind.name in LISTS:
        return values
    code = CODES[kind.name]
    return array(code, values) if kind.size is None else np.array(values, code)
