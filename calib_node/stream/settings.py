# SPDX-License-Identifier: Apache-2.0
"""From a mapping, as YAML gives it, to checked and typed parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from calib_node.core.calibrators import default_parameters
from calib_node.core.refusal import nearest_name
from calib_node.stream.cross_checks import contradictions, refuse_impossible, without_effect
from calib_node.stream.input_parameters import ContextVariable, of_context
from calib_node.stream.parameters import SPEC, ParameterError, Spec, Value
from calib_node.stream.presets import PRESETS
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
        The value of each parameter by its full name, in the order of the table; those of the
        contexts come last.
    specs : dict of str to Spec
        The declaration of each; its default is what holds where nothing is given.
    unknown : tuple of str
        Names that were given and are no parameters.
    notes : tuple of str
        A warning for each value that was given and does nothing, and for values that contradict
        one another.
    prefix : str
        What the full names begin with.
    """

    values: dict[str, Value]
    specs: dict[str, Spec]
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
        flat = flattened(given)
        specs = _specs(flat, prefix)
        values = {name: spec.check(flat.get(name, spec.default)) for name, spec in specs.items()}
        unknown = [
            name
            for name in flat
            if name.startswith(prefix)
            and name not in specs
            and name not in OF_EVERY_NODE
            and not name.startswith(QOS_OVERRIDES)
        ]
        return cls._of(values, specs, prefix, tuple(unknown))

    @classmethod
    def _of(
        cls, values: dict[str, Any], specs: dict[str, Spec], prefix: str, unknown: tuple[str, ...]
    ) -> Settings:
        """Return the settings of checked values."""
        typed = Parameters(**_typed(values, prefix))
        refuse_impossible(typed, prefix)
        notes = [unknown_name(name, specs) for name in unknown]
        notes += [
            f'the parameter {sentence}'
            for name, sentence in without_effect(typed, prefix).items()
            if values[name] != specs[name].default
        ]
        notes += contradictions(typed, prefix)
        return cls(
            **vars(typed),
            values=values,
            specs=specs,
            unknown=unknown,
            notes=tuple(notes),
            prefix=prefix,
        )

    def changed(self, given: Mapping[str, Any]) -> Settings:
        """Return the settings with other values for some parameters, as a running node takes them.

        Raises
        ------
        ParameterError
            If a value cannot be taken, if its parameter cannot change while the node runs, or
            if the change would do nothing; the sentence says why.
        """
        values, specs = dict(self.values), self.specs
        for name, value in flattened(given).items():
            if name not in specs:
                raise ParameterError(f'there is no parameter {name!r}{nearest_name(name, specs)}')
            if not specs[name].live:
                raise ParameterError(
                    f'{name} is read once, at the start: set it in the parameters file and start '
                    'again'
                )
            values[name] = specs[name].check(value)
        settings = self._of(values, specs, self.prefix, self.unknown)
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


def _specs(flat: Mapping[str, Any], prefix: str) -> dict[str, Spec]:
    """Return the parameters by full name, with the defaults that follow from what is given."""
    specs = {prefix + spec.name: replace(spec, name=prefix + spec.name) for spec in TABLE}

    def checked(name: str) -> Any:
        spec = specs[prefix + name]
        return spec.check(flat.get(spec.name, spec.default))

    def default(name: str, value: Any) -> None:
        specs[prefix + name] = replace(specs[prefix + name], default=value)

    preset = PRESETS.get(checked('preset'), {})
    for name, value in preset.items():
        side, _, field = name.partition('.')
        own_type = flat.get(f'{prefix}{side}.type', preset.get(f'{side}.type'))
        # The paths of a preset are those of its type.
        if field == 'type' or own_type == preset.get(f'{side}.type'):
            default(name, value)
    names = checked('class_names')
    if names:
        default('classes', len(names))
    own = default_parameters(checked('method'), checked('classes'))
    for spec in TABLE:
        if spec.of_method in own:
            default(spec.name, own[spec.of_method])
    for name in checked('contexts'):
        specs |= {prefix + s.name: replace(s, name=prefix + s.name) for s in of_context(name)}
    return specs


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
            typed[entry.name] = kind(
                **{f.name: values[f'{name}.{f.name}'] for f in fields(kind) if SPEC in f.metadata}
            )
    variables = tuple(
        ContextVariable(
            name,
            values[f'{prefix}context.{name}.field'],
            values[f'{prefix}context.{name}.edges'],
        )
        for name in typed['contexts']
    )
    typed['context'] = replace(typed['context'], variables=variables)
    return typed
