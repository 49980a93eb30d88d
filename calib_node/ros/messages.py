# SPDX-License-Identifier: Apache-2.0
"""Messages to stamps and values, and the corrected message back.

A *stamped array* is a Float64MultiArray with the data ``[sec, nanosec, value]``, or of several
classes ``[sec, nanosec, v1 … vK]``. It is read from its serialized bytes, and the calibrated values
are written into a copy of them, which costs less than a message object. Bytes of any other shape
than the one known here go by the object. Every other message type is in `fields`.
"""

from __future__ import annotations

from array import array
from struct import Struct
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from calib_node.core.pipeline import Figures
from calib_node.core.refusal import Refused
from calib_node.core.samples import NANOSECONDS

# Little-endian plain CDR: encapsulation, no dimension, data offset 0, three doubles. The four
# bytes of padding before the doubles may hold anything.
KNOWN_SHAPE = b'\x00\x01\x00\x00' + bytes(8) + (3).to_bytes(4, 'little')
STAMPED_VALUE = Struct('<16s4x3d')
VALUE = Struct('<d')
VALUE_AT = STAMPED_VALUE.size - VALUE.size
# The same with any number of doubles.
KNOWN_START = KNOWN_SHAPE[:-4]
STAMPED_VALUES = Struct('<12sI4x2d')
LATEST_SECOND = 2**33

Floats = NDArray[np.float64]


class Codec(Protocol):
    """How the messages of a topic are read and written."""

    message_type: Any
    serialized: bool
    """Whether messages come as bytes."""

    def decode(self, message: Any) -> tuple[int, Any, Any]:
        """Return the stamp in nanoseconds, the value, and what to encode into.

        The value is a float, an array of floats where there are several classes, or None where
        there is no opinion.

        Raises
        ------
        Refused
            If the message is not what it should be.
        """

    def encode(self, carrier: Any, probability: Any) -> Any:
        """Return the message that came in with its value replaced and all else untouched."""


class StampedArray:
    """Reads and writes stamped arrays of one value.

    Parameters
    ----------
    hint : str
        What to do about one of several values, for the operator.
    """

    message_type = Float64MultiArray
    serialized = True

    def __init__(self, hint: str = '') -> None:
        self._hint = hint

    def decode(self, message: bytes) -> tuple[int, float | None, bytes | Float64MultiArray]:
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
        unpacked = _deserialized(message)
        return (*self.read(unpacked), unpacked)

    def read(self, message: Float64MultiArray) -> tuple[int, float | None]:
        """Return the stamp in nanoseconds and the value of a message object."""
        data = _checked_data(message)
        if len(data) > 3:
            raise Refused('wrong_length', f'{len(data) - 2} instead of 1{self._hint}')
        return to_stamp(data[0], data[1]), data[2] if len(data) == 3 else None

    def encode(
        self, carrier: bytes | Float64MultiArray, probability: float
    ) -> bytes | Float64MultiArray:
        """As in `Codec`."""
        if isinstance(carrier, bytes):
            return carrier[:VALUE_AT] + VALUE.pack(probability)
        carrier.data[2] = probability
        return carrier


class StampedProbabilities:
    """Reads and writes stamped arrays of a probability a class."""

    message_type = Float64MultiArray
    serialized = True

    def decode(self, message: bytes) -> tuple[int, Floats | None, bytes | Float64MultiArray]:
        """As in `Codec`; how many values there should be is for the pipeline to know."""
        if len(message) > STAMPED_VALUES.size:
            start, count, seconds, nanoseconds = STAMPED_VALUES.unpack_from(message)
            if start == KNOWN_START and STAMPED_VALUES.size + 8 * (count - 2) == len(message):
                values = np.frombuffer(message, '<f8', offset=STAMPED_VALUES.size)
                # The bytes are not aligned, which would slow down every later use.
                return to_stamp(seconds, nanoseconds), values.astype(np.float64), message
        unpacked = _deserialized(message)
        data = _checked_data(unpacked)
        values = np.array(data[2:], np.float64)
        return to_stamp(data[0], data[1]), values if values.size else None, unpacked

    def encode(
        self, carrier: bytes | Float64MultiArray, probability: Floats
    ) -> bytes | Float64MultiArray:
        """As in `Codec`."""
        if isinstance(carrier, bytes):
            return carrier[: STAMPED_VALUES.size] + probability.astype('<f8').tobytes()
        carrier.data[2:] = array('d', probability.tobytes())
        return carrier


def _deserialized(message: bytes) -> Float64MultiArray:
    try:
        return deserialize_message(message, Float64MultiArray)
    except Exception as error:
        # rclpy has no narrower type for bytes that are not the message.
        raise Refused('undecodable', error) from None


def _checked_data(message: Float64MultiArray) -> Any:
    """Return the numbers of a message whose layout is trivial, a stamp at least."""
    layout, data = message.layout, message.data
    if layout.data_offset != 0 or len(layout.dim) > 1:
        raise Refused('layout', f'offset {layout.data_offset}, {len(layout.dim)} dimensions')
    if layout.dim and layout.dim[0].size != len(data):
        raise Refused('layout', f'a dimension of {layout.dim[0].size} for {len(data)} numbers')
    if len(data) < 2:
        raise Refused('too_short', f'{len(data)} numbers')
    return data


def to_stamp(seconds: float, nanoseconds: float) -> int:
    """Return a stamp in nanoseconds."""
    if 0 <= seconds < LATEST_SECOND and 0 <= nanoseconds < NANOSECONDS:
        whole_seconds, whole_nanoseconds = int(seconds), int(nanoseconds)
        if whole_seconds == seconds and whole_nanoseconds == nanoseconds:
            return whole_seconds * NANOSECONDS + whole_nanoseconds
    raise Refused('bad_stamp', f'{seconds!r} s, {nanoseconds!r} ns')


def reliability_message(raw: Figures[Any], calibrated: Figures[Any]) -> Float64MultiArray:
    """Return the reliability diagrams as an array of 2 series x bins x 3 columns."""
    message = Float64MultiArray()
    columns = ('count', 'mean_probability', 'frequency')
    sizes = (('raw,calibrated', 2), ('bin', raw.bins), (','.join(columns), len(columns)))
    stride = 2 * raw.bins * len(columns)
    for label, size in sizes:
        message.layout.dim.append(MultiArrayDimension(label=label, size=size, stride=stride))
        stride //= size
    numbers = [float(n) for row in raw.table() + calibrated.table() for n in row]
    # rclpy checks a list number by number, and an array not.
    message.data = array('d', numbers)
    return message
