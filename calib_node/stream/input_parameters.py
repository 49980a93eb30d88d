# SPDX-License-Identifier: Apache-2.0
"""The parameters of what the messages of an input hold: their part of the one table."""

from __future__ import annotations

from dataclasses import dataclass

from calib_node.core.ranges import Interval
from calib_node.stream.labels import NEGATIVE, POSITIVE
from calib_node.stream.numbers import LINKS
from calib_node.stream.parameters import Spec, listed, parameter

STAMPED_ARRAY = 'std_msgs/msg/Float64MultiArray'


@dataclass(frozen=True)
class Input:
    """How the messages of an input are read."""

    type: str = parameter(
        STAMPED_ARRAY,
        'message type of the {what}; this one is a stamped array, [sec, nanosec, value]',
        live=False,
    )
    value_field: str = parameter(
        '',
        'path to the {what}, such as results[0].score, or detections[].score for each of several; '
        'empty: data',
        live=False,
    )
    stamp_field: str = parameter(
        '', 'path to the stamp, or to [sec, nanosec]; empty: header.stamp', live=False
    )
    stamping: str = parameter(
        'header',
        'stamp in the message, of its publication (executor single), or of its arrival',
        live=False,
        choices=('header', 'publication', 'arrival'),
    )
    id_field: str = parameter(
        '', 'path to the id of an object, or several with commas between', live=False
    )
    class_field: str = parameter('', 'path to the name or number of the class', live=False)
    box_field: str = parameter(
        '', 'path to a box: a center with sizes, or the numbers [x0, y0, x1, y1]', live=False
    )
    position_field: str = parameter(
        '', 'path to a centre: a message with x, y and perhaps z, or 2 or 3 numbers', live=False
    )

    @property
    def is_array(self) -> bool:
        """Whether the messages are of the type that stamped arrays have."""
        return self.type.replace('/msg/', '/') == STAMPED_ARRAY.replace('/msg/', '/')

    @property
    def is_stamped_array(self) -> bool:
        """Whether the messages are stamped arrays: their stamp and their values are in data."""
        return self.is_array and not self.value_field and self.stamping == 'header'


@dataclass(frozen=True)
class RawInput(Input):
    """How predictions are read, and what their numbers mean."""

    scale: tuple[float, float] = listed(
        (0.0, 1.0), float, 'the numbers that mean 0 and 1, such as [0.0, 100.0] for percent', 2
    )
    link: str = parameter(
        'linear',
        'what a number is on its scale; logit: log-odds or a raw margin',
        live=False,
        choices=LINKS,
    )
    no_opinion: tuple[float, ...] = listed((), float, 'numbers that stand for no opinion')
    nan: str = parameter('refuse', 'what NaN is', live=False, choices=('refuse', 'no_opinion'))
    missing: str = parameter(
        'share',
        'what becomes of classes of class_names that a message leaves out: they share what is left '
        'of 1, or the object counts as no opinion',
        live=False,
        choices=('share', 'no_opinion'),
    )


@dataclass(frozen=True)
class LabelInput(Input):
    """How labels are read, and what they mean."""

    offset: float = parameter(0.0, 'added to the stamps of labels', 's', limits=Interval(-1e6, 1e6))
    positive: tuple[str, ...] = listed(
        POSITIVE, str, 'names and numbers that count as 1; a number is compared by its value'
    )
    negative: tuple[str, ...] = listed(NEGATIVE, str, 'names and numbers that count as 0')
    ignore: tuple[str, ...] = listed(
        (), str, 'names and numbers that are neither learned nor refused'
    )
    partial: bool = parameter(
        False,
        'iou, distance: a label message tells only of some objects, so that one it does not '
        'explain has no label; false: it counts as 0',
        live=False,
    )


@dataclass(frozen=True)
class ContextVariable:
    """What calibration may differ by.

    Attributes
    ----------
    name, field : str
        Its name, and the path to it.
    edges : tuple of float
        Where one range of a number ends and the next begins; empty: each value by itself.
    """

    name: str
    field: str
    edges: tuple[float, ...]


@dataclass(frozen=True)
class Context:
    """Contexts: what is learned for each beside what is learned for all."""

    capacity: int = parameter(
        200, 'contexts kept; the others share one', live=False, limits=Interval(1, 100_000)
    )
    rho: float = parameter(
        100.0,
        'weight of the identity for what is learned for one context; larger leans more on all',
        live=False,
        limits=Interval(0.01, 1e12),
    )
    variables: tuple[ContextVariable, ...] = ()


def of_context(name: str) -> tuple[Spec, Spec]:
    """Return the parameters of a context variable."""
    return (
        Spec(
            f'context.{name}.field',
            '',
            f'path to what the context {name} is; empty for one called class: raw.class_field',
            live=False,
        ),
        Spec(
            f'context.{name}.edges',
            (),
            f'where one range of {name} ends and the next begins, in rising order',
            live=False,
            items=float,
        ),
    )
