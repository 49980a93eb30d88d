# SPDX-License-Identifier: Apache-2.0
"""From a mapping, as YAML gives it, to checked and typed parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from calib_node.core.calibrators import default_parameters
from calib_node.core.refusal import nearest_name
from calib_node.stream.cross_checks import contradictions, refuse_impossible, without_effect
from calib_node.stream.parameters import SPEC, ParameterError, Spec, Value
from calib_node.stream.table import METHODS, TABLE, Parameters

OF_EVERY_NODE = ('use_sim_time', 'start_type_description_service')
QOS_OVERRIDES = 'qos_overrides.'
"""Parameters that rclpy declares itself, and how the names of those for topics begin."""


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """The parameters of one stream.

    Beside the sections of `Parameters`:

    Attributes
    ----------
    values : dict
        The value of each parameter by its full name, in the order of the table.
    unknown : tuple of str
        Names that were given and are no parameters.
    notes : tuple of str
        A warning for each value that was given and does nothing, and for values that contradict
        one another.
    prefix : str
        What the full names begin with.
    """

    values: dict[str, Value]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    prefix: str

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any], prefix: str = '') -> Settings:
        """Return the settings that a mapping asks for.

        Parameters
        ----------
        given : mapping
            Values by dotted names, by nested tables, or both.
        prefix : str
            What the names begin with, such as ``'door.'``; others are left aside.

        Raises
        ------
        ParameterError
            For the first value that cannot be taken.
        """
        flat, names = flattened(given), _names(prefix)

        def checked(name: str, default: Value) -> Any:
            return names[name].check(flat.get(name, default))

        method, classes = (
            checked(name, names[name].default) for name in (f'{prefix}method', f'{prefix}classes')
        )
        own = default_parameters(method, classes)
        values = {
            name: checked(name, own.get(spec.of_method, spec.default))
            for name, spec in names.items()
        }
        unknown = [
            name
            for name in flat
            if name.startswith(prefix)
            and name not in names
            and name not in OF_EVERY_NODE
            and not name.startswith(QOS_OVERRIDES)
        ]
        return cls._of(values, prefix, tuple(unknown))

    @classmethod
    def _of(cls, values: dict[str, Any], prefix: str, unknown: tuple[str, ...]) -> Settings:
        """Return the settings of checked values."""
        typed = Parameters(**_typed(values, prefix))
        refuse_impossible(typed, prefix)
        names = _names(prefix)
        notes = [unknown_name(name, names) for name in unknown]
        notes += [
            f'the parameter {sentence}'
            for name, sentence in without_effect(typed, prefix).items()
            if values[name] != names[name].default
        ]
        notes += contradictions(typed, prefix)
        return cls(**vars(typed), values=values, unknown=unknown, notes=tuple(notes), prefix=prefix)

    def changed(self, given: Mapping[str, Any]) -> Settings:
        """Return the settings with other values for some parameters, as a running node takes them.

        Raises
        ------
        ParameterError
            If a value cannot be taken, if its parameter cannot change while the node runs, or
            if the change would do nothing; the sentence says why.
        """
        values, names = dict(self.values), _names(self.prefix)
        for name, value in flattened(given).items():
            if name not in names:
                raise ParameterError(f'there is no parameter {name!r}{nearest_name(name, names)}')
            if not names[name].live:
                raise ParameterError(
                    f'{name} is read once, at the start: set it in the parameters file and start '
                    'again'
                )
            values[name] = names[name].check(value)
        settings = self._of(values, self.prefix, self.unknown)
        for name, sentence in without_effect(settings, self.prefix).items():
            if values[name] != self.values[name]:
                raise ParameterError(sentence)
        return settings

    @property
    def executor_used(self) -> str:
        """The executor to spin with; events cannot hand over the middleware's stamps."""
        by_publication = 'publication' in (self.raw.stamping, self.label.stamping)
        return 'single' if by_publication else self.executor

    def differences(self, other: Settings) -> set[str]:
        """Return the full names of the parameters whose values are not those of another."""
        return {name for name, value in self.values.items() if value != other.values[name]}


def unknown_name(name: str, known: Mapping[str, Spec]) -> str:
    """Return the warning for a name that is no parameter."""
    return f'the parameter {name!r} is unknown and ignored{nearest_name(name, known)}'


def flattened(given: Mapping[str, Any], above: str = '') -> dict[str, Any]:
    """Return the values of nested tables by dotted names.

    Examples
    --------
    >>> flattened({'ece': {'bins': 10}, 'match.policy': 'hold'})
    {'ece.bins': 10, 'match.policy': 'hold'}
    """
    flat: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, Mapping):
            flat.update(flattened(value, f'{above}{key}.'))
        else:
            flat[f'{above}{key}'] = value
    return flat


def _names(prefix: str) -> dict[str, Spec]:
    return {prefix + spec.name: replace(spec, name=prefix + spec.name) for spec in TABLE}


def _typed(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return checked values as the fields of `Parameters` hold them."""
    typed: dict[str, Any] = {}
    for entry in fields(Parameters):
        name = prefix + entry.name
        if SPEC in entry.metadata:
            typed[entry.name] = values[name]
        elif METHODS in entry.metadata:
            own = default_parameters(values[f'{prefix}method'], values[f'{prefix}classes'])
            typed[entry.name] = {
                spec.of_method: values[prefix + spec.name]
                for spec in entry.metadata[METHODS]
                if spec.of_method in own
            }
        else:
            kind: Any = type(entry.default)
            typed[entry.name] = kind(**{f.name: values[f'{name}.{f.name}'] for f in fields(kind)})
    return typed
