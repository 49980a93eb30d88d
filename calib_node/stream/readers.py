# SPDX-License-Identifier: Apache-2.0
"""The reader of an input's messages."""

from __future__ import annotations

from calib_node.stream.cdr.reader import SerializedReader
from calib_node.stream.cdr.wire import Unsupported
from calib_node.stream.columns import Layout, Reader
from calib_node.stream.definitions import Messages
from calib_node.stream.object_reader import ObjectReader


def reader_of(messages: Messages, layout: Layout) -> Reader:
    """Return what reads serialized messages, or message objects where no walk can be written."""
    try:
        return SerializedReader(messages, layout)
    except Unsupported:
        return ObjectReader(layout)
