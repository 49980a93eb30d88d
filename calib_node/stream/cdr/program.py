# SPDX-License-Identifier: Apache-2.0
"""A walk that runs: compiled from the source that is written for a message type."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from calib_node.stream.cdr.walk import WalkWriter
from calib_node.stream.cdr.wants import gather, taker
from calib_node.stream.cdr.wire import CODES, Unsupported, Wire
from calib_node.stream.definitions import Definitions
from calib_node.stream.paths import Step

HEADER = 4
"""Bytes before the message, which say how it is encoded."""
PLAIN_LITTLE_ENDIAN = b'\x00\x01'
"""How they begin; the two that follow are options."""
PADDING = 3
"""The bits of the last one that tell how many bytes at the end are none of the message."""

Lists = tuple[list[Any], ...]


class Unknown(Exception):
    """Bytes that the walk does not understand."""


class Program:
    """Finds what several paths lead to in the bytes of a message.

    Parameters
    ----------
    definitions : Definitions
        The message types there are.
    type_name : str
        Of the message.
    paths : sequence of sequences of steps
        To numbers and strings; the ``columns`` of what is found.

    Attributes
    ----------
    source : str
        Of the walk.
    counts : list of list of int
        By column, which of the lists of lengths, that come after the columns, are those of the
        arrays whose every element it is of, the outer one first.
    strides : list of int
        By column, 0, or the bytes between the elements of regular arrays, of which only the first
        is listed, and none of an empty array.

    Raises
    ------
    Unsupported
        If there is something on the way that no walk is written for.
    """

    def __init__(
        self, definitions: Definitions, type_name: str, paths: Sequence[Sequence[Step]]
    ) -> None:
        if sys.byteorder != 'little':
            raise Unsupported('a processor of the other byte order')
        wants = gather(paths)
        writer = WalkWriter(Wire(definitions), type_name, wants)
        self.source = writer.text
        self.counts = [[len(paths) + i for i in counts] for counts in wants.counts]
        self.strides = [writer.strides.get(taker(column), 0) for column in range(len(paths))]
        scope: dict[str, Any] = {'Unknown': Unknown, 'whole': _whole, **writer.constants}
        for name, code in CODES.items():
            scope[f'{name}_at'] = struct.Struct('<' + code).unpack_from
        exec(compile(self.source, f'<walk over {type_name}>', 'exec'), scope)
        self._walk: Callable[[bytes, memoryview, int], Lists] = scope['walk']

    def run(self, data: bytes) -> Lists:
        """Return, by column, the places of numbers, in bytes after the header, or the texts.

        A text is as it lies there, without its NUL. What the message does not have is -1. After
        the columns come the lists of lengths.

        Raises
        ------
        Unknown
            If the bytes are not understood.
        """
        if data[:2] != PLAIN_LITTLE_ENDIAN or len(data) < HEADER:
            raise Unknown
        size = len(data) - HEADER
        words = memoryview(data)[HEADER : len(data) - size % 4].cast('I')
        try:
            return self._walk(data, words, size - (data[HEADER - 1] & PADDING))
        except (IndexError, struct.error):
            # Beyond the end.
            raise Unknown from None


def _whole(text: bytes) -> bytes:
    """Return a text that has no NUL in it, which others would read only in part."""
    if 0 in text:
        raise Unknown
    return text
