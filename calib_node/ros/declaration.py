# SPDX-License-Identifier: Apache-2.0
"""A node whose parameters are those of the table, from its start on and at each change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter

from calib_node.ros.guarded import GuardedNode
from calib_node.stream.cross_checks import wall_time_stamps
from calib_node.stream.parameters import ParameterError, Spec
from calib_node.stream.settings import OF_EVERY_NODE, QOS_OVERRIDES, Settings

SIM_TIME = 'use_sim_time'


def descriptor(spec: Spec) -> ParameterDescriptor:
    """Return what `ros2 param describe` shows of a parameter."""
    described = ParameterDescriptor(
        description=f'{spec.meaning}{f" ({spec.unit})" if spec.unit else ""}',
        additional_constraints=spec.range,
        read_only=not spec.live,
    )
    limits = spec.limits
    if limits is not None and max(abs(limits.low), limits.high) < 1e9:
        # A range cannot say that an end is open; the check of the table sees to that.
        if isinstance(spec.default, float):
            described.floating_point_range = [
                FloatingPointRange(from_value=float(limits.low), to_value=float(limits.high))
            ]
        else:
            described.integer_range = [
                IntegerRange(from_value=int(limits.low), to_value=int(limits.high), step=1)
            ]
    return described


class ParameterNode(GuardedNode):
    """A node with `settings`; every change is checked before rclpy hears of it.

    rclpy's own checks come before its callbacks, and refuse a wrong type or an unknown name
    without naming it.

    Raises
    ------
    ParameterError
        For the first value that cannot be taken.
    """

    settings: Settings

    def __init__(self, name: str) -> None:
        self._given: dict[str, Any] | None = None
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        try:
            self._declare_settings()
        except Exception:
            self.destroy_node()
            raise

    def declare_parameters(
        self, namespace: str, parameters: Sequence[Any], *rest: Any, **options: Any
    ) -> Any:
        """As in rclpy, but for its first call, which has all that was given.

        Only what rclpy reads itself is declared then. Otherwise an empty list, which may be that
        of another node in a file for all, would end the start.
        """
        if self._given is None:
            self._given = {name: value for name, value, *_ in parameters}
            parameters = [p for p in parameters if p[0] in OF_EVERY_NODE and p[1] is not None]
            if not isinstance(self._given.get(SIM_TIME, False), bool):
                # Refused once the node is made: one half made does not end in order.
                parameters = [p for p in parameters if p[0] != SIM_TIME] + [(SIM_TIME, False)]
        return super().declare_parameters(namespace, parameters, *rest, **options)

    def _declare_settings(self) -> None:
        given = self._given or {}
        sim_time = given.get(SIM_TIME, False)
        if not isinstance(sim_time, bool):
            # rclpy would go by the system's time.
            raise ParameterError(f'{SIM_TIME} must be true or false, not {sim_time!r}')
        self.settings = Settings.from_mapping(given)
        for spec in self.settings.specs.values():
            value = self.settings.values[spec.name]
            if value == ():
                self._declare_empty(spec)
            else:
                self.declare_parameter(spec.name, value, descriptor(spec), ignore_override=True)

    def _declare_empty(self, spec: Spec) -> None:
        """Declare a list of nothing, which rclpy would take for one of bytes."""
        kind = Parameter.Type.STRING_ARRAY if spec.items is str else Parameter.Type.DOUBLE_ARRAY
        described = descriptor(spec)
        described.type = kind.value
        self.declare_parameter(spec.name, kind, ignore_override=True)
        super().set_parameters_atomically([Parameter(spec.name, kind, [])])
        self.set_descriptor(spec.name, described)

    def parameter_notes(self) -> list[str]:
        """Return the warnings about parameters, once all topics are there."""
        notes = list(self.settings.notes)
        if self.get_parameter(SIM_TIME).value:
            notes += wall_time_stamps(self.settings)
        return notes + [
            f'the parameter {name!r} names no topic of this node (topic names are resolved)'
            for name in self._given or {}
            if name.startswith(QOS_OVERRIDES) and not self.has_parameter(name)
        ]

    def check_settings(self, settings: Settings) -> None:
        """Raise a ValueError if settings cannot take effect."""

    def use_settings(self, before: Settings) -> None:
        """Let `settings` take effect in place of those of before."""

    # Changes

    def set_parameters(self, parameter_list: Sequence[Parameter]) -> list[SetParametersResult]:
        """As in rclpy."""
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]

    def set_parameters_atomically(self, parameter_list: Sequence[Parameter]) -> SetParametersResult:
        """As in rclpy, but every refusal names the parameter, and an integer will do for a float.

        A change that is taken and yet not all that it should be is answered with the reason.
        """
        specs = self.settings.specs
        others = [p for p in parameter_list if p.name not in specs and self.has_parameter(p.name)]
        ours = {p.name: p.value for p in parameter_list if p not in others}
        try:
            settings = self.settings.changed(ours)
            self.check_settings(settings)
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))
        known = self.parameter_notes()
        checked = [Parameter(name, value=settings.values[name]) for name in ours]
        result = super().set_parameters_atomically([*others, *checked])
        if not result.successful:
            result.reason = f'{", ".join(p.name for p in others)}: {result.reason}'
            return result
        before, self.settings = self.settings, settings
        self.use_settings(before)
        result.reason = '; '.join(note for note in self.parameter_notes() if note not in known)
        return result

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, **options: Any) -> Any:
        """As in rclpy, but its services that set parameters answer a malformed request too."""
        own = {SetParameters: self._answer_each, SetParametersAtomically: self._answer_all}
        return super().create_service(srv_type, srv_name, own.get(srv_type, callback), **options)

    def _answer_each(self, request: Any, response: Any) -> Any:
        response.results = [self._set([message]) for message in request.parameters]
        return response

    def _answer_all(self, request: Any, response: Any) -> Any:
        response.result = self._set(request.parameters)
        return response

    def _set(self, messages: Sequence[Any]) -> SetParametersResult:
        parameters = []
        for message in messages:
            try:
                parameters.append(Parameter.from_parameter_msg(message))
            except ValueError:
                reason = f'{message.name} has a value of type {message.value.type}, which is none'
                return SetParametersResult(successful=False, reason=reason)
        return self.set_parameters_atomically(parameters)
