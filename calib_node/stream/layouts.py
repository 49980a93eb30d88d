# SPDX-License-Identifier: Apache-2.0
"""From the paths of an input to the columns that are read of its messages."""

from __future__ import annotations

from calib_node.stream.columns import CLASS, CONTEXT, VALUE, Column, Form, Layout
from calib_node.stream.cross_checks import context_field
from calib_node.stream.definitions import INTEGERS, LABELS, NAMES, Definitions
from calib_node.stream.input_paths import NUMBERS, InputPaths, for_each
from calib_node.stream.paths import Path
from calib_node.stream.settings import Settings


def prediction_layout(definitions: Definitions, settings: Settings) -> Layout:
    """Return what is read of the predictions.

    Raises
    ------
    ValueError
        If a path cannot be, in a sentence that says what to set.
    """
    sources = InputPaths(definitions, settings.raw, settings, 'raw')
    value = sources.value()
    if value is None:
        raise ValueError(
            f'raw.value_field must name the field of {settings.raw.type} that holds the value'
        )
    by_name = bool(settings.class_names and settings.raw.class_field)
    if settings.classes > 1 and not by_name:
        if not value.kind.is_array:
            raise ValueError(
                f'raw.value_field: {value.text!r} does not hold an array of numbers but '
                f'{value.kind}, which classes of {settings.classes} needs; where a message names '
                'its classes set class_names and raw.class_field'
            )
        value = value.each()
    if value.kind.is_array or value.kind.name not in NUMBERS:
        raise ValueError(
            f'raw.value_field: {value.text!r} does not hold a number but {value.kind}'
            f'{for_each(value)}'
        )
    _check_scale(value, settings)
    columns = [Column(VALUE, value, Form.NUMBER)]
    if settings.match.objects != 'single' or by_name:
        columns += sources.names()
    columns += sources.objects()
    for variable in settings.context.variables:
        columns += sources.context(context_field(settings, variable), variable)
    layout = Layout(settings.raw.type, tuple(columns), sources.stamp())
    _check_levels(layout, settings, by_name)
    return layout


def label_layout(definitions: Definitions, settings: Settings) -> Layout:
    """Return what is read of the labels.

    Raises
    ------
    ValueError
        As in `prediction_layout`.
    """
    sources = InputPaths(definitions, settings.label, settings, 'label')
    columns: list[Column] = []
    value = sources.value()
    if value is not None:
        if value.kind.is_array or value.kind.name not in LABELS:
            raise ValueError(
                f'label.value_field: {value.text!r} holds {value.kind}, and a label is a number, a '
                f'truth value or a name{for_each(value)}'
            )
        form = Form.TEXT if value.kind.name in NAMES else Form.NUMBER
        columns.append(Column(VALUE, value, form))
    if settings.match.objects != 'single':
        columns += sources.names()
    columns += sources.objects()
    if value is None:
        if not settings.label.class_field and settings.match.objects in ('id', 'order'):
            raise ValueError(
                f'match.objects is {settings.match.objects}: set label.value_field to the path of '
                'the label of an object, or label.class_field to that of its true class'
            )
        columns.sort(key=lambda column: -column.path.fan_out)
    layout = Layout(settings.label.type, tuple(columns), sources.stamp())
    _check_fan_out(layout, 'label')
    if settings.match.objects == 'single' and layout.columns[0].path.fan_out:
        raise ValueError(_single('label', layout))
    return layout


def _check_scale(value: Path, settings: Settings) -> None:
    raw = settings.raw
    if value.kind.name in INTEGERS and (raw.link == 'logit' or raw.scale == (0.0, 1.0)):
        raise ValueError(
            f'raw.value_field: {value.text!r} does not hold a floating point number but '
            f'{value.kind}, so a probability cannot be written back: set raw.scale to the numbers '
            'that mean 0 and 1, such as [0.0, 100.0]'
        )


def _check_levels(layout: Layout, settings: Settings, by_name: bool) -> None:
    """Refuse paths that lead to other objects than that of the value."""
    value = layout.columns[0].path
    _check_fan_out(layout, 'raw')
    level = value.fan_out - (settings.classes > 1)
    if by_name:
        named = next(column.path for column in layout.columns if column.name == CLASS)
        if named.fan_out != value.fan_out or not value.fan_out:
            raise ValueError(
                f'raw.class_field: {named.text!r} must name the class of each of the numbers of '
                f'raw.value_field, {value.text!r}, by as many []'
            )
    for column in layout.columns[1:]:
        if column.path.fan_out > level and not (by_name and column.name == CLASS):
            raise ValueError(
                f'{_parameter("raw", column.name)}: {column.path.text!r} differs for the classes '
                'of one object, and must be the same for all of them'
            )
    if settings.match.objects == 'single' and level:
        several = settings.raw.class_field and not settings.class_names
        hint = ', or class_names where they are the classes of one object' if several else ''
        raise ValueError(_single('raw', layout) + hint)


def _check_fan_out(layout: Layout, side: str) -> None:
    lead, *others = layout.columns
    for column in others:
        if column.path.fan_out > lead.path.fan_out:
            raise ValueError(
                f'{_parameter(side, column.name)}: {column.path.text!r} leads to each at '
                f'{column.path.fan_out} level{"s" * (column.path.fan_out > 1)}, and '
                f'{_parameter(side, lead.name)}, {lead.path.text!r}, only at {lead.path.fan_out}: '
                'name one element instead, such as [0], or give both as many []'
            )


def _single(side: str, layout: Layout) -> str:
    lead = layout.columns[0]
    return (
        f'{_parameter(side, lead.name)}: {lead.path.text!r} leads to several objects, and '
        'match.objects is single: set it to id, order, iou or distance, or name one element, '
        f'such as {lead.path.text.replace("[]", "[0]")}'
    )


def _parameter(side: str, column: str) -> str:
    name, _, rest = column.partition('.')
    if name == CONTEXT:
        return f'context.{rest.partition(".")[0]}.field'
    return f'{side}.{name.rpartition(" ")[2]}_field'
