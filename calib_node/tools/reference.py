# SPDX-License-Identifier: Apache-2.0
"""The reference pages of parameters and tools, from the tables they follow from.

``python -m calib_node.tools.reference docs/reference`` writes them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from calib_node.stream.parameter_text import to_markdown
from calib_node.tools import demo, plot, replay, report, top
from calib_node.tools.recording import load_recording

PARAMETERS = """\
# Parameters

`config/calib.yaml` holds them all with their defaults, those of the methods commented out, since
each method has its own. Live ones change with `ros2 param set` while the node runs; a value that
cannot be, or that would do nothing, is refused with the reason, and a set of several is taken whole
or not at all. Values that defeat one another are warned about. A parameter file needs only what
differs from the defaults:

```yaml
/**:
  ros__parameters:
    gamma: 0.2
    forgetting: 0.999
    match:
      tolerance: 0.02
```

"""
TOOLS = """\
# Tools

Each is an executable of the package (`ros2 run calib_node calib_replay`) and, in an environment
where it is installed, a command. A library that is missing is named with the line that installs it.
"""


def parameters_page() -> str:
    """Return the page of all parameters."""
    return PARAMETERS + to_markdown()


def tools_page() -> str:
    """Return the page of all tools."""
    parsers = [
        replay.make_parser(),
        report.make_parser(),
        top.make_parser(),
        plot.make_parser(),
        demo.make_parser(len(load_recording())),
    ]
    return '\n'.join([TOOLS, *map(_tool, parsers)])


def _tool(parser: argparse.ArgumentParser) -> str:
    """Return the section of a tool."""
    rows = ['| | |', '|---|---|']
    for group in parser._action_groups:
        actions = [a for a in group._group_actions if not isinstance(a, argparse._HelpAction)]
        if actions and group.title not in ('options', 'optional arguments', 'positional arguments'):
            title = f'*{group.title}*'
            rows.append(f'| {title} | {group.description or ""} |')
        for action in actions:
            rows.append(f'| `{_name(action)}` | {_help(action)} |')
    texts = [f'## {parser.prog}', parser.description, '\n'.join(rows), parser.epilog]
    return '\n\n'.join(text for text in texts if text) + '\n'


def _name(action: argparse.Action) -> str:
    value = action.metavar
    if value is None and action.choices is not None:
        value = ','.join(map(str, action.choices))
    if value is None and action.nargs != 0:
        value = action.dest.upper()
    name = ', '.join(action.option_strings)
    return f'{name} {value or ""}'.strip().replace('|', '\\|')


def _help(action: argparse.Action) -> str:
    return str(action.help or '') % {'default': action.default}


PAGES = {'parameters.md': parameters_page, 'tools.md': tools_page}


def main(folder: str) -> None:
    """Write the pages to a folder."""
    for name, page in PAGES.items():
        Path(folder, name).write_text(page(), encoding='utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
