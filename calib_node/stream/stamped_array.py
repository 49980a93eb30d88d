# SPDX-License-Identifier: Apache-2.0
"""Stamped arrays: a Float64MultiArray with the data ``[sec, nanosec, v1 … vK]``.

It is read from its serialized bytes, and the calibrated values are written into a copy of them,
which costs less than a message object. Bytes of any other shape than the one known here go by the
object.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.core.refusal import Refused
from calib_node.core.samples import NANOSECONDS
from calib_node.stream.codec import LATEST_SECOND, to_stamp
from calib_node.stream.input_parameters import STAMPED_ARRAY

# Little-endian plain CDR: encapsulation, no dimension, data offset 0, three doubles. The four
# bytes of padding before the doubles may hold anything.
KNOWN_SHAPE = b'\x00\x01\x00\x00' + bytes(8) + (3).to_bytes(4, 'little')
STAMPED_VALUE = Struct('<16s4x3d')
VALUE = Struct('<d')
VALUE_AT = STAMPED_VALUE.size - VALUE.size
# The same with any number of doubles.
KNOWN_START = KNOWN_SHAPE[:-4]
STAMPED_VALUES = Struct('<12sI4x2d')

Floats = NDArray[np.float64]
Deserialize = Callable[[bytes], Any]
"""Makes the message object of serialized bytes, or raises."""


class _Arrays:
    """What both kinds of stamped array have in common.

    Parameters
    ----------
    deserialize : callable
        For bytes of another shape.
    """

    type_name = STAMPED_ARRAY
    serialized = True

    def __init__(self, deserialize: Deserialize) -> None:
        self._deserialize = deserialize

    def _object(self, message: bytes) -> Any:
        try:
            return self._deserialize(message)
        except Exception as error:
            # There is no narrower type for bytes that are not the message.
            raise Refused('undecodable', error) from None


class StampedArray(_Arrays):
    """Reads and writes stamped arrays of one value."""

    def decode(self, message: bytes) -> tuple[int, float | None, Any]:
        """As in `Codec`; what to encode into is an object where the bytes are of another shape."""
        if len(message) == STAMPED_VALUE.size:
            shape, seconds, nanoseconds, value = STAMPED_VALUE.unpack(message)
            if (
                shape == KNOWN_SHAPE
                and 0.0 <= seconds < LATEST_SECOND
                and 0.0 <= nanoseconds < NANOSECONDS
            ):
                # As in to_stamp, without the price of a call; what is not whole goes there.
                whole, rest = int(seconds), int(nanoseconds)
                if whole == seconds and rest == nanoseconds:
                    return whole * NANOSECONDS + rest, value, message
        unpacked = self._object(message)
        return (*self.read(unpacked), unpacked)

    def read(self, message: Any) -> tuple[int, float | None]:
        """Return the stamp in nanoseconds and the value of a message object."""
        data = _checked_data(message)
        stamp = to_stamp(data[0], data[1])
        if len(data) > 3:
            raise Refused('wrong_length', f'{len(data) - 2} instead of 1', stamp=stamp)
        return stamp, data[2] if len(data) == 3 else None

    def encode(self, carrier: Any, probability: float) -> Any:
        """As in `Codec`."""
        if isinstance(carrier, bytes):
            return carrier[:VALUE_AT] + VALUE.pack(probability)
        carrier.data[2] = probability
        return carrier


class StampedProbabilities(_Arrays):
    """Reads and writes stamped arrays of one probability per class."""

    def decode(self, message: bytes) -> tuple[int, Floats | None, Any]:
        """As in `Codec`; how many values there should be is for the pipeline to know."""
        if len(message) > STAMPED_VALUES.size:
            start, count, seconds, nanoseconds = STAMPED_VALUES.unpack_from(message)
            if start == KNOWN_START and STAMPED_VALUES.size + 8 * (count - 2) == len(message):
                values = np.frombuffer(message, '<f8', offset=STAMPED_VALUES.size)
                # The bytes are not aligned, which would slow down every later use.
                return to_stamp(seconds, nanoseconds), values.astype(np.float64), message
        unpacked = self._object(message)
        data = _checked_data(unpacked)
        values = np.array(data[2:], np.float64)
        return to_stamp(data[0], data[1]), values if values.size else None, unpacked

    def encode(self, carrier: Any, probability: Floats) -> Any:
        """As in `Codec`."""
        if isinstance(carrier, bytes):
            return carrier[: STAMPED_VALUES.size] + probability.astype('<f8').tobytes()
        carrier.data[2:] = array('d', probability.tobytes())
        return carrier


def _checked_data(message: Any) -> Any:
    """Return the numbers of a message whose layout is trivial, a stamp at least."""
    layout, data = message.layout, message.data
    if len(data) < 2:
        raise Refused('too_short', f'{len(data)} numbers')
    if layout.data_offset != 0 or len(layout.dim) > 1:
        raise Refused('layout', f'offset {layout.data_offset}, {len(layout.dim)} dimensions')
    if layout.dim and layout.dim[0].size != len(data):
        raise Refused('layout', f'a dimension of {layout.dim[0].size} for {len(data)} numbers')
    return data
