# SPDX-License-Identifier: Apache-2.0
"""The codecs of the inputs, from the parameters."""

from __future__ import annotations

from calib_node.stream.codec import Codec, read_number
from calib_node.stream.definitions import FLOATS, INTEGERS, LABELS, TIME, Kind, Messages
from calib_node.stream.fields import FieldMessage, read_probabilities
from calib_node.stream.frames import FrameCodec, LabelFrameCodec
from calib_node.stream.input_parameters import STAMPED_ARRAY, Input
from calib_node.stream.labels import LabelReader
from calib_node.stream.layouts import label_layout, prediction_layout
from calib_node.stream.meaning import MeantLabel, MeantNumber
from calib_node.stream.numbers import Numbers
from calib_node.stream.object_reader import whole_limits
from calib_node.stream.one_object import LabelOfOne, OneObject
from calib_node.stream.paths import Path, check_path
from calib_node.stream.readers import reader_of
from calib_node.stream.settings import Settings
from calib_node.stream.stamped_array import StampedArray, StampedProbabilities

SEVERAL = '; for one probability per class set the parameter classes to their number'


def frame_codec(messages: Messages, settings: Settings) -> FrameCodec:
    """Return the codec of predictions of many objects.

    Parameters
    ----------
    messages : Messages
        The message types there are.
    settings : Settings
        The parameters.

    Raises
    ------
    ValueError
        If the type, a path or the stamping cannot be; the sentence says what to set.
    """
    layout = prediction_layout(messages, settings)
    return FrameCodec(
        reader_of(messages, layout),
        numbers_of(settings),
        settings.classes,
        settings.class_names if settings.raw.class_field else (),
        settings.raw.missing == 'share',
        settings.context.variables,
    )


def label_frame_codec(messages: Messages, settings: Settings, read: LabelReader) -> LabelFrameCodec:
    """Return the codec of labels of many objects, as in `frame_codec`.

    Parameters
    ----------
    messages, settings
        As there.
    read : LabelReader
        What a label means.
    """
    by_name = bool(
        settings.label.class_field
        and settings.raw.class_field
        and not settings.label.value_field
        and not settings.class_names
    )
    return LabelFrameCodec(reader_of(messages, label_layout(messages, settings)), read, by_name)


def prediction_codec(messages: Messages, settings: Settings) -> Codec:
    """Return the codec of predictions of one object, as in `frame_codec`."""
    raw, classes = settings.raw, settings.classes
    numbers = numbers_of(settings)
    if raw.is_stamped_array:
        deserialize = messages.deserializer(STAMPED_ARRAY)
        codec: Codec = (
            StampedArray(deserialize) if classes == 1 else StampedProbabilities(deserialize)
        )
        return codec if numbers.plain else MeantNumber(codec, numbers)
    named = settings.class_names and raw.class_field
    paths = None if settings.contexts or named else _paths(messages, raw, 'raw')
    if paths is None:
        return OneObject(frame_codec(messages, settings))
    value, stamp = paths
    _check_probability(value, settings)
    read = read_number if classes == 1 else read_probabilities
    field = FieldMessage(raw.type, value.plain or [], stamp, read)
    if numbers.plain:
        return field
    return MeantNumber(field, numbers, whole_limits(value.kind.name))


def label_codec(messages: Messages, settings: Settings, read: LabelReader) -> Codec:
    """Return the codec of labels of one object, as in `label_frame_codec`."""
    label = settings.label
    if label.is_stamped_array:
        codec = StampedArray(messages.deserializer(STAMPED_ARRAY))
        return codec if read.plain else MeantLabel(codec, read)
    paths = _paths(messages, label, 'label')
    if paths is None:
        return LabelOfOne(label_frame_codec(messages, settings, read))
    value, stamp = paths
    if value.kind.is_array or value.kind.name not in LABELS:
        raise ValueError(
            f'label.value_field: {value.text!r} holds {value.kind}, and a label is a number, '
            'a truth value or a name'
        )
    return FieldMessage(label.type, value.plain or [], stamp, read)


def numbers_of(settings: Settings) -> Numbers:
    """Return what the numbers of the predictions mean."""
    raw = settings.raw
    return Numbers(raw.scale, raw.link, raw.no_opinion, raw.nan == 'no_opinion')


def _paths(
    messages: Messages, settings: Input, side: str
) -> tuple[Path, list[str | int] | None] | None:
    """Return the path to the value and the steps to the stamp, if it is in there.

    None where one of them is more than names and indices, or the stamp more than a time.
    """
    fields = messages.fields(settings.type)
    data = fields.get('data', '')
    if not settings.value_field and (list(fields) != ['data'] or '/' in data):
        raise ValueError(
            f'{side}.value_field must name the field of {settings.type} that holds '
            f'the value (its fields: {", ".join(fields)})'
        )
    stamp = _stamp_path(messages, settings, side) if settings.stamping == 'header' else None
    path = settings.value_field or 'data'
    value = check_path(messages, settings.type, path, f'{side}.value_field')
    if value.plain is None or (stamp is not None and stamp.plain is None):
        return None
    if stamp is not None and stamp.kind != Kind(TIME):
        if stamp.kind.is_array and stamp.kind.name in INTEGERS:
            return None
        raise ValueError(
            f'{side}.stamp_field: {stamp.text!r} is not a {TIME} nor [sec, nanosec], but '
            f'{stamp.kind}'
        )
    return value, None if stamp is None else stamp.plain


def _stamp_path(messages: Messages, settings: Input, side: str) -> Path:
    if not settings.stamp_field and 'header' not in messages.fields(settings.type):
        raise ValueError(
            f'{settings.type} has no header: set {side}.stamp_field to the field '
            f'that holds its stamp, or {side}.stamping to publication or arrival'
        )
    path = settings.stamp_field or 'header.stamp'
    return check_path(messages, settings.type, path, f'{side}.stamp_field')


def _check_probability(value: Path, settings: Settings) -> None:
    kind, path, classes = value.kind, value.text, settings.classes
    scaled = settings.raw.scale != (0.0, 1.0) and settings.raw.link == 'linear'
    is_number = kind.name in FLOATS or (scaled and kind.name in INTEGERS)
    if classes == 1 and (kind.is_array or not is_number):
        hint = SEVERAL if kind.is_array else ''
        if kind.name in INTEGERS and not kind.is_array:
            hint = ': set raw.scale to the numbers that mean 0 and 1, such as [0.0, 100.0]'
        raise ValueError(
            f'raw.value_field: {path!r} does not hold a floating point number but {kind}, '
            f'so a probability cannot be written back{hint}'
        )
    if classes > 1 and not (kind.is_array and is_number):
        raise ValueError(
            f'raw.value_field: {path!r} does not hold an array of floating point numbers but '
            f'{kind}, which classes of {classes} needs; classes is 1 for that of the positive class'
        )
    if classes > 1 and kind.size not in (None, classes):
        raise ValueError(f'raw.value_field: {path!r} holds {kind.size} numbers, not {classes}')
