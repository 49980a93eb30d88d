# SPDX-License-Identifier: Apache-2.0
"""config/calib.yaml and a table in markdown, from the table of parameters.

``python -m calib_node.stream.parameter_text yaml`` (or ``markdown``) prints them.
"""

from __future__ import annotations

import json
import sys

from calib_node.stream.parameters import Spec, Value
from calib_node.stream.table import TABLE

HEADER = """\
# Every parameter of calib_node with its default.
#
# /**: takes under any node name and namespace. "live" parameters can be changed while the node
# runs (ros2 param set); the others are read once, at the start. What is commented out belongs to
# methods: each has defaults of its own, which depend on classes too, and those of ops are shown.
/**:
  ros__parameters:
"""


def yaml_value(value: Value) -> str:
    """Return a value as YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return json.dumps(value)
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
        if group != section:
            lines.append('')
            if group and not spec.of_method:
                lines.append(f'    {group}:')
            section = group
        indent = ' ' * (6 if group and not spec.of_method else 4)
        lines.append(f'{indent}# {spec.meaning[0].upper()}{spec.meaning[1:]}.')
        lines.append(f'{indent}# {_facts(spec)}')
        # By its whole name, so that a line comes into force by itself.
        shown = f'#{spec.name}' if spec.of_method else key
        lines.append(f'{indent}{shown}: {yaml_value(spec.default)}')
    return HEADER + '\n'.join(lines) + '\n'


def to_markdown() -> str:
    """Return the table of parameters."""
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
