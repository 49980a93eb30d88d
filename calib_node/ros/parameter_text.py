# SPDX-License-Identifier: Apache-2.0
"""config/calib.yaml and the README's table, from the table of parameters.

``python -m calib_node.ros.parameter_text yaml`` (or ``markdown``) prints them.
"""

from __future__ import annotations

import sys

from calib_node.ros.parameters import TABLE, Spec, Value

HEADER = """\
# Every parameter of calib_node with its default.
#
# /**: takes under any node name and namespace. "live" parameters can be changed while the node
# runs (ros2 param set); the others are read once, at the start.
/**:
  ros__parameters:
"""


def yaml_value(value: Value) -> str:
    """Return a value as YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if value == '' else str(value)


def _facts(spec: Spec) -> str:
    unit = f'{spec.unit}, ' if spec.unit else ''
    return f'{unit}{spec.range}; {"live" if spec.live else "at start only"}'


def to_yaml() -> str:
    """Return the text of config/calib.yaml: nested keys, each with meaning, unit and range."""
    lines: list[str] = []
    section = ''
    for spec in TABLE:
        group, _, key = spec.name.rpartition('.')
        if group != section or not lines:
            lines.append('')
            if group:
                lines.append(f'    {group}:')
            section = group
        indent = ' ' * (6 if group else 4)
        lines.append(f'{indent}# {spec.meaning[0].upper()}{spec.meaning[1:]}.')
        lines.append(f'{indent}# {_facts(spec)}')
        lines.append(f'{indent}{key}: {yaml_value(spec.default)}')
    return HEADER + '\n'.join(lines[1:]) + '\n'


def to_markdown() -> str:
    """Return the README's table of parameters."""
    rows = ['| parameter | default | range | live | meaning |', '|---|---|---|---|---|']
    for spec in TABLE:
        unit = f' {spec.unit}' if spec.unit else ''
        live = 'yes' if spec.live else 'no'
        rows.append(
            f'| `{spec.name}` | {yaml_value(spec.default)}{unit} | {spec.range} | {live} '
            f'| {spec.meaning} |'
        )
    return '\n'.join(rows) + '\n'


if __name__ == '__main__':
    sys.stdout.write(to_yaml() if sys.argv[1:] == ['yaml'] else to_markdown())
