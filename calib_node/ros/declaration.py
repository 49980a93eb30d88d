# SPDX-License-Identifier: Apache-2.0
"""Declares the table of parameters on a node, and checks what it is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from calib_node.core.limits import nearest_name
from calib_node.ros.parameters import BY_NAME, TABLE

# rclpy declares these itself.
OF_RCLPY = ('use_sim_time', 'start_type_description_service')


def declare(node: Node) -> tuple[dict[str, Any], list[str]]:
    """Declare every parameter of the table on a node that has declared its overrides.

    Parameters
    ----------
    node : Node
        Made with ``automatically_declare_parameters_from_overrides=True``: the only public way
        to see keys that nobody declares, and integers given for floats.

    Returns
    -------
    values : dict
        The checked value of each parameter.
    others : list of str
        Overrides that are not in the table; they are declared no longer.

    Raises
    ------
    ParameterError
        For the first value that cannot be taken.
    """
    given = {
        name: parameter.value
        for name, parameter in node.get_parameters_by_prefix('').items()
        if name not in OF_RCLPY
    }
    for name in given:
        node.undeclare_parameter(name)
    values = {}
    for spec in TABLE:
        values[spec.name] = spec.check(given.get(spec.name, spec.default))
        node.declare_parameter(
            spec.name, values[spec.name], spec.descriptor(), ignore_override=True
        )
    return values, [name for name in given if name not in BY_NAME]


def unknown_key(name: str) -> str:
    """Return the warning for a key that the node does not declare."""
    if name.startswith('qos_overrides.'):
        return f'the parameter {name!r} names no topic of this node (topic names are resolved)'
    return f'the parameter {name!r} is unknown and ignored{nearest_name(name, BY_NAME)}'


def as_declared(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return the parameters with integers that were given for floats made floats."""
    declared = []
    for parameter in parameters:
        spec = BY_NAME.get(parameter.name)
        if spec and isinstance(spec.default, float) and type(parameter.value) is int:
            parameter = Parameter(parameter.name, value=float(parameter.value))
        declared.append(parameter)
    return declared


def check(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """Return the checked values of those parameters that are in the table.

    Raises
    ------
    ParameterError
        For the first value that cannot be taken.
    """
    return {
        parameter.name: BY_NAME[parameter.name].check(parameter.value)
        for parameter in parameters
        if parameter.name in BY_NAME
    }
