# SPDX-License-Identifier: Apache-2.0
"""Declares the table of parameters on a node, and checks what it is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from calib_node.core.refusal import nearest_name
from calib_node.ros.configuration import default_of, names_of_method
from calib_node.ros.parameters import BY_NAME, TABLE, ParameterError, Value

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
    sim_time = node.get_parameter('use_sim_time').value
    if not isinstance(sim_time, bool):
        # rclpy would go by the system's time.
        raise ParameterError(f'use_sim_time must be true or false, not {sim_time!r}')
    method: Any = _checked(given, 'method')
    classes: Any = _checked(given, 'classes')
    values: dict[str, Any] = {}
    for spec in TABLE:
        values[spec.name] = spec.check(given.get(spec.name, default_of(spec, method, classes)))
        node.declare_parameter(
            spec.name, values[spec.name], spec.descriptor(), ignore_override=True
        )
    return values, [name for name in given if name not in BY_NAME]


def _checked(given: dict[str, Any], name: str) -> Value:
    spec = BY_NAME[name]
    return spec.check(given.get(name, spec.default))


def without_effect(node: Node, values: dict[str, Any], others: list[str]) -> list[str]:
    """Return a warning for each parameter that was given and does nothing."""
    return [unknown_key(name) for name in others if not node.has_parameter(name)] + [
        not_of_method(name, values['method'])
        for name in of_other_methods(values['method'])
        if values[name] != BY_NAME[name].default
    ]


def of_other_methods(method: str) -> list[str]:
    """Return the parameters that only other methods have."""
    own = names_of_method(method)
    return [s.name for s in TABLE if s.of_method and s.of_method not in own]


def not_of_method(name: str, method: str) -> str:
    """Return the sentence for a parameter that the method does not have."""
    return f'the parameter {name!r} has no effect with method {method}'


def unknown_key(name: str) -> str:
    """Return the warning for a key that the node does not declare."""
    if name.startswith('qos_overrides.'):
        return f'the parameter {name!r} names no topic of this node (topic names are resolved)'
    return f'the parameter {name!r} is unknown and ignored{nearest_name(name, BY_NAME)}'


def as_declared(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return the parameters with what was given for floats made floats, where it can be."""
    declared = []
    for parameter in parameters:
        spec = BY_NAME.get(parameter.name)
        value = spec.as_declared(parameter.value) if spec else parameter.value
        if value is not parameter.value:
            parameter = Parameter(parameter.name, value=value)
        declared.append(parameter)
    return declared


def check(parameters: Iterable[Parameter], values: dict[str, Any]) -> dict[str, Any]:
    """Return those parameters of the table that change `values`, checked.

    Raises
    ------
    ParameterError
        For the first value that cannot be taken, or that would do nothing.
    """
    checked = {
        parameter.name: BY_NAME[parameter.name].check(parameter.value)
        for parameter in parameters
        if parameter.name in BY_NAME
    }
    changed = {name: value for name, value in checked.items() if value != values[name]}
    for name in of_other_methods(values['method']):
        if name in changed:
            raise ParameterError(not_of_method(name, values['method']))
    return changed
