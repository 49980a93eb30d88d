# SPDX-License-Identifier: Apache-2.0
"""Any message type, by the paths of its fields."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.core.refusal import Refused
from calib_node.stream.codec import to_stamp
from calib_node.stream.definitions import Steps, follow

Floats = NDArray[np.float64]


class FieldMessage:
    """Reads and writes the value of a message of any type.

    Parameters
    ----------
    type_name : str
        Of the messages.
    value : sequence of str and int
        Steps to the value.
    stamp : sequence of str and int or None
        Steps to a builtin_interfaces/Time; None where the stamp comes from elsewhere.
    read : callable
        Makes the value of what is found there, None for no opinion, or raises Refused.
    """

    serialized = False

    def __init__(
        self, type_name: str, value: Steps, stamp: Steps | None, read: Callable[[Any], Any]
    ) -> None:
        self.type_name = type_name
        self._value = value
        self._stamp = stamp
        self._read = read

    def decode(self, message: Any) -> tuple[int, Any, Any]:
        """As in `Codec`; a path that ends outside an array is no opinion."""
        stamp = 0 if self._stamp is None else _stamp_of(message, self._stamp)
        try:
            value = follow(message, self._value)
        except IndexError:
            return stamp, None, message
        try:
            return stamp, self._read(value), message
        except Refused as refused:
            refused.stamp = stamp
            raise

    def encode(self, carrier: Any, probability: Any) -> Any:
        """As in `Codec`; an array in the message keeps its type."""
        *parents, last = self._value
        parent = follow(carrier, parents)
        if isinstance(probability, np.ndarray):
            _fill(follow(parent, [last]), probability)
        elif isinstance(last, int):
            parent[last] = probability
        else:
            setattr(parent, last, probability)
        return carrier


def _stamp_of(message: Any, steps: Steps) -> int:
    try:
        time = follow(message, steps)
    except IndexError:
        raise Refused('bad_stamp', 'its path leads beyond an array') from None
    return to_stamp(time.sec, time.nanosec)


def _fill(values: Any, probabilities: Floats) -> None:
    if isinstance(values, array):
        values[:] = array(values.typecode, probabilities.astype(values.typecode).tobytes())
    else:
        values[:] = probabilities


def read_probabilities(value: Any) -> Floats | None:
    """Return one probability per class, shape (K,), that were found in a field.

    A copy, since the calibrated ones will be written over those in the message.
    """
    return np.array(value, np.float64) if len(value) else None
