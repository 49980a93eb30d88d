# SPDX-License-Identifier: Apache-2.0
"""The codec of an input, from the parameters of its side."""

from __future__ import annotations

from typing import Protocol

from calib_node.stream.codec import Codec, read_number
from calib_node.stream.definitions import FLOATS, LABELS, TIME, Definitions, Kind
from calib_node.stream.fields import FieldMessage, read_probabilities
from calib_node.stream.labels import LabelReader
from calib_node.stream.paths import check_path
from calib_node.stream.stamped_array import (
    Deserialize,
    StampedArray,
    StampedProbabilities,
)
from calib_node.stream.table import STAMPED_ARRAY, Input

SEVERAL = '; for one probability per class set the parameter classes to their number'


class Messages(Definitions, Protocol):
    """The message types there are, and how their bytes are read."""

    def deserializer(self, type_name: str) -> Deserialize:
        """Return what makes message objects of serialized bytes."""


def prediction_codec(messages: Messages, settings: Input, classes: int) -> Codec:
    """Return the codec of the predictions.

    Parameters
    ----------
    messages : Messages
        The message types there are.
    settings : Input
        The parameters of the side.
    classes : int
        Number of probabilities in a prediction.

    Returns
    -------
    Codec

    Raises
    ------
    ValueError
        If the type, a path or the stamping cannot be; the sentence says what to set.
    """
    if settings.is_stamped_array:
        deserialize = messages.deserializer(STAMPED_ARRAY)
        return StampedArray(deserialize) if classes == 1 else StampedProbabilities(deserialize)
    value, kind, stamp = _paths(messages, settings, 'raw')
    _check_probability(kind, _value_path(settings), classes)
    read = read_number if classes == 1 else read_probabilities
    return FieldMessage(settings.type, value, stamp, read)


def label_codec(messages: Messages, settings: Input, read: LabelReader) -> Codec:
    """Return the codec of the labels.

    Parameters
    ----------
    messages, settings
        As in `prediction_codec`.
    read : LabelReader
        What a label means.

    Returns
    -------
    Codec

    Raises
    ------
    ValueError
        As in `prediction_codec`.
    """
    if settings.is_stamped_array:
        return StampedArray(messages.deserializer(STAMPED_ARRAY))
    value, kind, stamp = _paths(messages, settings, 'label')
    if kind.is_array or kind.name not in LABELS:
        raise ValueError(
            f'label.value_field: {_value_path(settings)!r} holds {kind}, and a label is a number, '
            'a truth value or a name'
        )
    return FieldMessage(settings.type, value, stamp, read)


def _value_path(settings: Input) -> str:
    return settings.value_field or 'data'


def _paths(
    messages: Messages, settings: Input, side: str
) -> tuple[list[str | int], Kind, list[str | int] | None]:
    """Return the steps to the value, its type, and the steps to the stamp if it is in there."""
    fields = messages.fields(settings.type)
    data = fields.get('data', '')
    if not settings.value_field and (list(fields) != ['data'] or '/' in data):
        raise ValueError(
            f'{side}.value_field must name the field of {settings.type} that holds '
            f'the value (its fields: {", ".join(fields)})'
        )
    stamp = _stamp_path(messages, settings, side) if settings.stamping == 'header' else None
    path = _value_path(settings)
    value = check_path(messages, settings.type, path, f'{side}.value_field')
    return value.plain or [], value.kind, stamp


def _stamp_path(messages: Messages, settings: Input, side: str) -> list[str | int]:
    path = settings.stamp_field or 'header.stamp'
    if not settings.stamp_field and 'header' not in messages.fields(settings.type):
        raise ValueError(
            f'{settings.type} has no header: set {side}.stamp_field to the field '
            f'that holds its stamp, or {side}.stamping to publication or arrival'
        )
    stamp = check_path(messages, settings.type, path, f'{side}.stamp_field')
    if stamp.kind != Kind(TIME):
        raise ValueError(f'{side}.stamp_field: {path!r} is not a {TIME}, but {stamp.kind}')
    return stamp.plain or []


def _check_probability(kind: Kind, path: str, classes: int) -> None:
    is_float = kind.name in FLOATS
    if classes == 1 and (kind.is_array or not is_float):
        raise ValueError(
            f'raw.value_field: {path!r} does not hold a floating point number but {kind}, '
            f'so a probability cannot be written back{SEVERAL if kind.is_array else ""}'
        )
    if classes > 1 and not (kind.is_array and is_float):
        raise ValueError(
            f'raw.value_field: {path!r} does not hold an array of floating point numbers but '
            f'{kind}, which classes of {classes} needs; classes is 1 for that of the positive class'
        )
    if classes > 1 and kind.size not in (None, classes):
        raise ValueError(f'raw.value_field: {path!r} holds {kind.size} numbers, not {classes}')
