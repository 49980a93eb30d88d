# SPDX-License-Identifier: Apache-2.0
"""Any message type, by the paths of its fields."""

from __future__ import annotations

import importlib
import re
from array import array
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray

from calib_node.core.refusal import Refused, brief, nearest_name
from calib_node.ros.messages import Codec, Floats, StampedArray, StampedProbabilities, to_stamp

PATH = re.compile(r'[A-Za-z]\w*(?:\.[A-Za-z]\w*|\[\d+\])*')
SEVERAL = '; for a probability a class set the parameter classes to their number'
STEP = re.compile(r'[A-Za-z]\w*|\d+')


def find_type(name: str) -> Any:
    """Return the message class called ``package/msg/Type``.

    Raises
    ------
    ValueError
        If there is none in this installation.
    """
    package, _, kind = name.replace('/msg/', '/', 1).partition('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), kind)
    except (ImportError, AttributeError, ValueError, TypeError):
        raise ValueError(
            f'there is no message type {name!r} here; types are written package/msg/Type, '
            'and their package must be installed and sourced'
        ) from None


def parse_path(path: str) -> list[str | int]:
    """Return the steps of a field path, as in ``ros2 topic echo --field``.

    Examples
    --------
    >>> parse_path('results[0].hypothesis.score')
    ['results', 0, 'hypothesis', 'score']
    """
    if not PATH.fullmatch(path):
        raise ValueError(f'{path!r} is not a field path such as results[0].hypothesis.score')
    return [int(step) if step.isdigit() else step for step in STEP.findall(path)]


def check_path(message_type: Any, path: str, parameter: str) -> list[str | int]:
    """Return the steps of a path that exists in a message type, as far as a new message shows.

    Raises
    ------
    ValueError
        If it does not, in a sentence that names the parameter.
    """
    try:
        steps = parse_path(path)
    except ValueError as error:
        raise ValueError(f'{parameter}: {error}') from None
    value = message_type()
    for step in steps:
        if isinstance(step, int):
            if not hasattr(value, '__len__') or isinstance(value, str):
                raise ValueError(f'{parameter}: {path!r} has an index where there is no array')
            if len(value) == 0:
                break
            if step >= len(value):
                raise ValueError(f'{parameter}: {path!r} goes beyond an array of {len(value)}')
            value = value[step]
        else:
            known = _field_names(value)
            if step not in known:
                hint = nearest_name(step, known)
                raise ValueError(
                    f'{parameter}: {path!r} has no field {step!r}{hint} '
                    f'(fields here: {", ".join(known) or "none"})'
                )
            value = getattr(value, step)
    return steps


def _field_names(value: Any) -> list[str]:
    return list(getattr(value, 'get_fields_and_field_types', dict)())


def follow(value: Any, steps: list[str | int]) -> Any:
    """Return what a path leads to in a message."""
    for step in steps:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value


class FieldMessage:
    """Reads and writes one value of a message of any type.

    Parameters
    ----------
    message_type : type
        Message class.
    value : list of str and int
        Steps to the value.
    stamp : list of str and int or None
        Steps to a builtin_interfaces/Time; None where the stamp comes from elsewhere.
    positive_class : str
        The class that counts as 1 where the value is a name.
    """

    serialized = False

    def __init__(
        self,
        message_type: Any,
        value: list[str | int],
        stamp: list[str | int] | None,
        positive_class: str,
    ) -> None:
        self.message_type = message_type
        self._value = value
        self._stamp = stamp
        self._positive_class = positive_class

    def decode(self, message: Any) -> tuple[int, Any, Any]:
        """As in `Codec`; a path that ends outside an array is no opinion."""
        stamp = 0
        if self._stamp is not None:
            time = follow(message, self._stamp)
            stamp = to_stamp(time.sec, time.nanosec)
        try:
            value = follow(message, self._value)
        except IndexError:
            return stamp, None, message
        return stamp, self._read(value), message

    def _read(self, value: Any) -> Any:
        if isinstance(value, str) and self._positive_class:
            return float(value == self._positive_class)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise Refused('not_a_number', brief(value)) from None

    def encode(self, carrier: Any, probability: Any) -> Any:
        """As in `Codec`."""
        *parents, last = self._value
        parent = follow(carrier, parents)
        if isinstance(last, int):
            parent[last] = probability
        else:
            setattr(parent, last, probability)
        return carrier


class FieldProbabilities(FieldMessage):
    """Reads and writes an array of a probability a class in a message of any type."""

    def _read(self, value: Any) -> Floats | None:
        if not _is_array_of_floats(value):
            raise Refused('not_a_number', brief(value), 'the field holds no array of floats')
        # A copy, since the calibrated ones will be written over those in the message.
        return np.array(value, np.float64) if len(value) else None

    def encode(self, carrier: Any, probability: Floats) -> Any:
        """As in `Codec`; the array in the message keeps its type."""
        values = follow(carrier, self._value)
        if isinstance(values, array):
            values[:] = array(values.typecode, probability.astype(values.typecode).tobytes())
        else:
            values[:] = probability
        return carrier


def _is_array_of_floats(value: Any) -> bool:
    # What rclpy holds a sequence in, and an array of fixed size.
    if isinstance(value, array):
        return value.typecode in 'fd'
    return isinstance(value, np.ndarray) and value.dtype.kind == 'f'


def make_codec(values: dict[str, Any], side: str) -> Codec:
    """Make the codec of an input from the parameters of its side.

    Parameters
    ----------
    values : dict
        The node's parameters.
    side : {'raw', 'label'}
        Prefix of the parameters.

    Raises
    ------
    ValueError
        If the type, a path or the stamping cannot be; the sentence says what to set.
    """
    if values['classes'] > 1 and values['positive_class']:
        raise ValueError(
            'positive_class is for labels of two classes, and classes is '
            f'{values["classes"]}: a label is then the index of its class, so leave it empty'
        )
    message_type = find_type(values[f'{side}.type'])
    classes = values['classes'] if side == 'raw' else 1
    value = values[f'{side}.value_field']
    stamp = values[f'{side}.stamp_field']
    by_message = values[f'{side}.stamping'] == 'header'
    if message_type is Float64MultiArray and not value and by_message:
        if classes > 1:
            return StampedProbabilities()
        return StampedArray(SEVERAL if side == 'raw' else '')
    fields = message_type.get_fields_and_field_types()
    if not value:
        if list(fields) != ['data'] or fields['data'] == 'string' or 'Array' in fields['data']:
            raise ValueError(
                f'{side}.value_field must name the field of {values[f"{side}.type"]} that holds '
                f'the value (its fields: {", ".join(fields)})'
            )
        value = 'data'
    stamp_steps = None
    if by_message:
        stamp = stamp or 'header.stamp'
        if stamp == 'header.stamp' and 'header' not in fields:
            raise ValueError(
                f'{values[f"{side}.type"]} has no header: set {side}.stamp_field to the field '
                f'that holds its stamp, or {side}.stamping to publication or arrival'
            )
        stamp_steps = check_path(message_type, stamp, f'{side}.stamp_field')
        if not hasattr(follow(message_type(), stamp_steps), 'nanosec'):
            raise ValueError(f'{side}.stamp_field: {stamp!r} is not a builtin_interfaces/Time')
    value_steps = check_path(message_type, value, f'{side}.value_field')
    if side == 'raw':
        _check_holds_probability(message_type, value_steps, value, classes)
    codec = FieldMessage if classes == 1 else FieldProbabilities
    return codec(message_type, value_steps, stamp_steps, values['positive_class'])


def _check_holds_probability(
    message_type: Any, steps: list[str | int], path: str, classes: int
) -> None:
    try:
        value = follow(message_type(), steps)
    except IndexError:
        # An array that a message fills; what it holds shows when one comes.
        return
    several = _is_array_of_floats(value)
    if classes == 1 and not isinstance(value, float | np.floating):
        raise ValueError(
            f'raw.value_field: {path!r} does not hold a floating point number, '
            f'so a probability cannot be written back{SEVERAL if several else ""}'
        )
    if classes > 1 and not several:
        raise ValueError(
            f'raw.value_field: {path!r} does not hold an array of floating point numbers, '
            f'which classes of {classes} needs; classes is 1 for that of the positive class'
        )
    if classes > 1 and isinstance(value, np.ndarray) and len(value) != classes:
        raise ValueError(f'raw.value_field: {path!r} holds {len(value)} numbers, not {classes}')
