# SPDX-License-Identifier: Apache-2.0
"""Messages to stamps and values, and the corrected message back.

A *stamped array* is a Float64MultiArray with the data ``[sec, nanosec, value]``. It is read from
its serialized bytes, and the calibrated value is written into a copy of them, which costs less
than a message object. Bytes of any other shape than the one known here go by the object. Every
other message type is in `fields`.
"""

from __future__ import annotations

from array import array
from struct import Struct
from typing import Any, Protocol

from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from calib_node.core.metrics import RollingReliability
from calib_node.core.samples import NANOSECONDS, Refused

# Little-endian plain CDR: encapsulation, no dimension, data offset 0, three doubles. The four
# bytes of padding before the doubles may hold anything.
KNOWN_SHAPE = b'\x00\x01\x00\x00' + bytes(8) + (3).to_bytes(4, 'little')
STAMPED_VALUE = Struct('<16s4x3d')
VALUE = Struct('<d')
VALUE_AT = STAMPED_VALUE.size - VALUE.size
LATEST_SECOND = 2**33


class Codec(Protocol):
    """How the messages of a topic are read and written."""

    message_type: Any
    serialized: bool
    """Whether messages come as bytes."""

    def decode(self, message: Any) -> tuple[int, float | None, Any]:
        """Return the stamp in nanoseconds, the value (None: no opinion), and what to encode into.

        Raises
        ------
        Refused
            If the message is not what it should be.
        """

    def encode(self, carrier: Any, probability: float) -> Any:
        """Return the message that came in with its probability replaced and all else untouched."""


class StampedArray:
    """Reads and writes stamped arrays."""

    message_type = Float64MultiArray
    serialized = True

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
        try:
            unpacked = deserialize_message(message, Float64MultiArray)
        except Exception as error:
            # rclpy has no narrower type for bytes that are not the message.
            raise Refused('undecodable', error) from None
        return (*self.read(unpacked), unpacked)

    @staticmethod
    def read(message: Float64MultiArray) -> tuple[int, float | None]:
        """Return the stamp in nanoseconds and the value of a message object."""
        layout, data = message.layout, message.data
        if layout.data_offset != 0 or len(layout.dim) > 1:
            raise Refused('layout', f'offset {layout.data_offset}, {len(layout.dim)} dimensions')
        if layout.dim and layout.dim[0].size != len(data):
            raise Refused('layout', f'a dimension of {layout.dim[0].size} for {len(data)} numbers')
        if len(data) < 2:
            raise Refused('too_short', f'{len(data)} numbers')
        if len(data) > 3:
            raise Refused('wrong_length', f'{len(data)} numbers')
        return to_stamp(data[0], data[1]), data[2] if len(data) == 3 else None

    def encode(
        self, carrier: bytes | Float64MultiArray, probability: float
    ) -> bytes | Float64MultiArray:
        """As in `Codec`."""
        if isinstance(carrier, bytes):
            return carrier[:VALUE_AT] + VALUE.pack(probability)
        carrier.data[2] = probability
        return carrier


def to_stamp(seconds: float, nanoseconds: float) -> int:
    """Return a stamp in nanoseconds."""
    if 0 <= seconds < LATEST_SECOND and 0 <= nanoseconds < NANOSECONDS:
        whole_seconds, whole_nanoseconds = int(seconds), int(nanoseconds)
        if whole_seconds == seconds and whole_nanoseconds == nanoseconds:
            return whole_seconds * NANOSECONDS + whole_nanoseconds
    raise Refused('bad_stamp', f'{seconds!r} s, {nanoseconds!r} ns')


def reliability_message(
    raw: RollingReliability, calibrated: RollingReliability
) -> Float64MultiArray:
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
