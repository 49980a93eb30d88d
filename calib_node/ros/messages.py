# SPDX-License-Identifier: Apache-2.0
"""The message types of this ROS installation, and the messages that are made here."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from calib_node.core.metrics.rolling_scores import RollingScores
from calib_node.stream.status import Level
from calib_node.stream.watch import Watch


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


class InstalledMessages:
    """The message types that Python can import, as `calib_node.stream.codecs.Messages`."""

    def fields(self, type_name: str) -> Mapping[str, str]:
        """Return the fields of a message type with their types as rosidl writes them."""
        fields: Mapping[str, str] = find_type(type_name).get_fields_and_field_types()
        return fields

    def deserializer(self, type_name: str) -> Callable[[bytes], Any]:
        """Return what makes message objects of serialized bytes."""
        message_type = find_type(type_name)
        return lambda message: deserialize_message(message, message_type)


def reliability_message(scores: RollingScores[Any]) -> Float64MultiArray:
    """Return the reliability diagrams as an array of 2 series x bins x 3 columns."""
    message = Float64MultiArray()
    raw, calibrated = scores.raw, scores.calibrated
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


def alarm_message(node: str, watch: Watch) -> DiagnosticStatus:
    """Return whether the alarm is raised, why and since when."""
    raised = None if watch.published is None else watch.published.raised
    facts = {} if raised is None else vars(raised)
    return DiagnosticStatus(
        level=bytes([Level.OK if raised is None else Level.WARN]),
        name=f'{node[1:]}: alarm',
        message=watch.sentence or 'no alarm',
        hardware_id=node,
        values=[KeyValue(key=name, value=str(value)) for name, value in facts.items()],
    )
