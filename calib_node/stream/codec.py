# SPDX-License-Identifier: Apache-2.0
"""Messages to stamps and values, and the corrected message back."""

from __future__ import annotations

from typing import Any, Protocol

from calib_node.core.refusal import Refused, brief
from calib_node.core.samples import NANOSECONDS

LATEST_SECOND = 2**33


class Codec(Protocol):
    """How the messages of an input are read and written.

    Attributes
    ----------
    type_name : str
        Of the messages, ``package/msg/Type``.
    serialized : bool
        Whether they come as bytes.
    """

    type_name: str
    serialized: bool

    def decode(self, message: Any) -> tuple[int, Any, Any]:
        """Return the stamp in nanoseconds, the value, and what to encode into.

        The value is a float, an array of floats where there are several classes, or None where
        there is no opinion.

        Raises
        ------
        Refused
            If the message is not what it should be; with its stamp where that can be read.
        """

    def encode(self, carrier: Any, probability: Any) -> Any:
        """Return the message that came in with its value replaced and all else untouched."""


def to_stamp(seconds: float, nanoseconds: float) -> int:
    """Return a stamp in nanoseconds.

    Raises
    ------
    Refused
        If the two are not whole numbers in their ranges.
    """
    if 0 <= seconds < LATEST_SECOND and 0 <= nanoseconds < NANOSECONDS:
        whole_seconds, whole_nanoseconds = int(seconds), int(nanoseconds)
        if whole_seconds == seconds and whole_nanoseconds == nanoseconds:
            return whole_seconds * NANOSECONDS + whole_nanoseconds
    raise Refused('bad_stamp', f'{seconds!r} s, {nanoseconds!r} ns')


def read_number(value: Any) -> float:
    """Return the number that a field holds, or that its text is.

    Raises
    ------
    Refused
        If it is none.
    """
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Refused('not_a_number', brief(value)) from None
