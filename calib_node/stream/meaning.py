# SPDX-License-Identifier: Apache-2.0
"""Codecs of one object whose numbers do not stand for themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_node.core.refusal import Refused
from calib_node.stream.codec import Codec
from calib_node.stream.labels import LabelReader
from calib_node.stream.numbers import Numbers
from calib_node.stream.object_reader import nearest_whole


class MeantNumber:
    """Gives numbers their meaning on the way in, and takes it from them on the way out.

    Parameters
    ----------
    codec : Codec
        Reads and writes them as they are.
    numbers : Numbers
        What they mean.
    whole : tuple of (int, int) or None
        The range of whole numbers that the field can hold; None where it holds fractions.
    """

    def __init__(
        self, codec: Codec, numbers: Numbers, whole: tuple[int, int] | None = None
    ) -> None:
        self.type_name = codec.type_name
        self.serialized = codec.serialized
        self._codec = codec
        self._numbers = numbers
        self._whole = whole

    def decode(self, message: Any) -> tuple[int, Any, Any]:
        """As in `Codec`."""
        stamp, value, carrier = self._codec.decode(message)
        if value is None:
            return stamp, None, carrier
        given = np.atleast_1d(np.asarray(value, np.float64))
        if self._numbers.says_nothing(given).any():
            return stamp, None, carrier
        meant = self._numbers.to_probability(given)
        return stamp, meant if isinstance(value, np.ndarray) else float(meant[0]), carrier

    def encode(self, carrier: Any, probability: Any) -> Any:
        """As in `Codec`."""
        numbers: Any = self._numbers.back(np.atleast_1d(np.asarray(probability, np.float64)))
        if self._whole is not None:
            numbers = np.array([nearest_whole(number, *self._whole) for number in numbers.tolist()])
        several = isinstance(probability, np.ndarray)
        return self._codec.encode(carrier, numbers if several else numbers.tolist()[0])


class MeantLabel:
    """Gives the labels of stamped arrays their meaning.

    Parameters
    ----------
    codec : Codec
        Reads their numbers.
    read : LabelReader
        What they mean.
    """

    def __init__(self, codec: Codec, read: LabelReader) -> None:
        self.type_name = codec.type_name
        self.serialized = codec.serialized
        self._codec = codec
        self._read = read

    def decode(self, message: Any) -> tuple[int, Any, Any]:
        """As in `Codec`."""
        stamp, value, carrier = self._codec.decode(message)
        try:
            return stamp, None if value is None else self._read(value), carrier
        except Refused as refused:
            refused.stamp = stamp
            raise

    def encode(self, carrier: Any, probability: Any) -> Any:
        """As in `Codec`; labels are not written."""
        raise NotImplementedError
