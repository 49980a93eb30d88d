# SPDX-License-Identifier: Apache-2.0
"""The message types of recordings: what is embedded in them, what a folder has, what ROS ships."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

from calib_node.bags.problems import RecordingError, one_line

# As rosidl writes what .msg files call otherwise.
ROSIDL = {
    'bool': 'boolean',
    'byte': 'octet',
    'char': 'uint8',
    'float32': 'float',
    'float64': 'double',
}
SEPARATOR = '=' * 80 + '\n'
IDL_HEAD = re.compile(r'IDL: .*\n')
NEWEST = Stores.ROS2_LYRICAL
"""The definitions that are taken where the distribution of a recording is not known."""

Fields = list[tuple[str, Any]]


def full_name(type_name: str) -> str:
    """Return a type's name as ``package/msg/Type``, however it was written.

    Examples
    --------
    >>> full_name('std_msgs/String'), full_name('std_msgs/msg/String')
    ('std_msgs/msg/String', 'std_msgs/msg/String')
    """
    package, _, rest = type_name.partition('/')
    return f'{package}/msg/{rest.rpartition("/")[2]}' if rest else type_name


class RecordedMessages:
    """Message types by their definitions, as `calib_node.stream.definitions.Messages`.

    A definition that a recording embeds comes first, then one of the folder, then that of ROS.

    Parameters
    ----------
    distribution : str
        Name of the ROS distribution; empty: the newest known.
    folder : Path or None
        Where there are .msg files, ``package/msg/Type.msg`` or ``package/Type.msg``.

    Raises
    ------
    RecordingError
        If there is no such folder, or a file in it cannot be read.
    """

    def __init__(self, distribution: str = '', folder: Path | None = None) -> None:
        store = {s.value: s for s in Stores}.get(f'ros2_{distribution}', NEWEST)
        self._ros = get_typestore(store).fielddefs
        self._embedded: dict[str, tuple[list[Any], Fields]] = {}
        self._of_folder = dict(_read_folder(folder)) if folder is not None else {}
        self._folder = folder
        self._texts: dict[str, tuple[str, str]] = {}
        self._store: Any = None

    def embed(self, type_name: str, text: str, is_idl: bool, where: str) -> None:
        """Take over the definition of a type that a recording holds.

        Raises
        ------
        RecordingError
            If it cannot be read, or another recording has another one.
        """
        if not text or self._texts.get(type_name, ('',))[0] == text:
            return
        try:
            found = _from_idl(text) if is_idl else get_types_from_msg(text, type_name)
        except Exception as error:
            raise RecordingError(
                f'{where}: the definition of {type_name} cannot be read '
                f'({one_line(error)}); give its .msg files by --definitions'
            ) from None
        if type_name in self._texts and found[type_name][1] != self._embedded[type_name][1]:
            raise RecordingError(
                f'{where}: the definition of {type_name} is not that of '
                f'{self._texts[type_name][1]}: replay these recordings one by one, each from the '
                'state of the one before (--start)'
            )
        self._texts[type_name] = text, where
        for name, definition in found.items():
            self._embedded.setdefault(name, (definition[0], list(definition[1])))
        self._store = None

    def fields(self, type_name: str) -> Mapping[str, str]:
        """Return the fields of a message type with their types as rosidl writes them."""
        return {name: _rosidl(kind) for name, kind in self._definition(type_name)[1]}

    def deserializer(self, type_name: str) -> Callable[[bytes], Any]:
        """Return what makes message objects of serialized bytes."""
        name = full_name(type_name)

        def deserialize(data: bytes) -> Any:
            # Of memory that may be written to, so that arrays may be too.
            return self.store(name).deserialize_cdr(bytearray(data), name)

        return deserialize

    def serializer(self, type_name: str) -> Callable[[Any], bytes]:
        """Return what makes serialized bytes of message objects."""
        name = full_name(type_name)

        def serialize(message: Any) -> bytes:
            return bytes(self.store(name).serialize_cdr(message, name, little_endian=True))

        return serialize

    def store(self, type_name: str) -> Any:
        """Return a type store of rosbags that knows a type and all that it consists of."""
        if self._store is None:
            self._store = get_typestore(Stores.EMPTY)
        name = full_name(type_name)
        if name not in self._store.fielddefs:
            needed = {each: self._definition(each) for each in self._closure(name)}
            known = self._store.fielddefs
            self._store.register({n: d for n, d in needed.items() if n not in known})
        return self._store

    def _definition(self, type_name: str) -> tuple[list[Any], Fields]:
        name = full_name(type_name)
        for definitions in (self._embedded, self._of_folder, self._ros):
            if name in definitions:
                constants, fields = definitions[name][:2]
                return list(constants), [field for field in fields if field[0] != PLACEHOLDER]
        package, _, kind = name.partition('/msg/')
        given = '' if self._folder is None else f', nor in {self._folder}'
        raise ValueError(
            f'the definition of {name!r} is not in the recording{given}: give a folder that holds '
            f'{package}/msg/{kind}.msg by --definitions (types are written package/msg/Type)'
        )

    def _closure(self, name: str) -> Iterator[str]:
        seen, waiting = {name}, [name]
        while waiting:
            name = waiting.pop()
            yield name
            for _, kind in self._definition(name)[1]:
                inner = _message_of(kind)
                if inner and inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)


PLACEHOLDER = 'structure_needs_at_least_one_member'


def _message_of(kind: Any) -> str:
    node, content = kind
    if node == Nodetype.NAME:
        return str(content)
    return _message_of(content[0]) if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) else ''


def _rosidl(kind: Any) -> str:
    node, content = kind
    if node == Nodetype.BASE:
        name, bound = content
        return f'{name}<{bound}>' if bound else ROSIDL.get(name, name)
    if node == Nodetype.NAME:
        if content.endswith('/wstring'):
            return 'wstring'
        return str(content).replace('/msg/', '/')
    element, number = _rosidl(content[0]), content[1]
    if node == Nodetype.ARRAY:
        return f'{element}[{number}]'
    return f'sequence<{element}, {number}>' if number else f'sequence<{element}>'


def _from_idl(text: str) -> dict[str, Any]:
    parts: Iterable[str] = [text]
    if text.startswith(f'{SEPARATOR}IDL: '):
        parts = [IDL_HEAD.sub('', part, count=1) for part in text.split(SEPARATOR)[1:]]
    found: dict[str, Any] = {}
    for part in parts:
        found.update(get_types_from_idl(part))
    return found


def _read_folder(folder: Path) -> Iterator[tuple[str, Any]]:
    if not folder.is_dir():
        raise RecordingError(f'--definitions {folder}: there is no such folder')
    files = sorted(folder.rglob('*.msg'))
    if not files:
        raise RecordingError(f'--definitions {folder}: there is no .msg file in it')
    for path in files:
        above = path.parent.parent if path.parent.name == 'msg' else path.parent
        name = f'{above.name}/msg/{path.stem}'
        try:
            yield from get_types_from_msg(path.read_text(encoding='utf-8'), name).items()
        except Exception as error:
            raise RecordingError(
                f'--definitions: {path} cannot be read as the definition of {name}: '
                f'{one_line(error)}'
            ) from None
