#!/usr/bin/env python3
# PYTHON_ARGCOMPLETE_OK
# SPDX-License-Identifier: Apache-2.0
"""calib_top: all calibration nodes of the graph in a terminal, refreshed each second."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from calib_node.stream.status import Level
from calib_node.tools.command_line import parse
from calib_node.tools.top_view import SILENT_AFTER, Rates, level_word, lines_of

TOOL = 'calib_top'
COLOURS = {Level.OK: 'green', Level.WARN: 'yellow', Level.ERROR: 'red', Level.STALE: 'magenta'}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description='Shows all calibration nodes of the graph: level and sentence, rates, ECE and '
        'how much of it is chance, what was learned, what waits, what was refused, the last save.',
        epilog='Exit code: 0; with --once 1 if no node was heard or one is at ERROR. It shows no '
        'colour where NO_COLOR is set or the output is no terminal.',
    )
    parser.add_argument('nodes', nargs='*', metavar='NODE', help='names of nodes (default: all)')
    parser.add_argument('--once', action='store_true', help='print once, as text, and end')
    parser.add_argument(
        '--wait',
        type=float,
        default=3.0,
        metavar='SECONDS',
        help='with --once, how long to listen at most; it ends sooner where all NODEs are heard '
        '(default: %(default)g)',
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and show the nodes; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = make_parser()
    options = parse(parser, given)
    if not 0.0 < options.wait < float('inf'):
        parser.error(f'--wait must be above 0, not {options.wait:g}')
    names = [name if name.startswith('/') else f'/{name}' for name in options.nodes]
    try:
        from calib_node.tools.graph import watching
    except ImportError as error:
        print(f'{TOOL} needs ROS ({error}): source its setup.bash first', file=sys.stderr)
        return 1
    if not options.once:
        try:
            import rich  # noqa: F401
        except ImportError:
            print(
                f'{TOOL} needs rich: pip install calib_node[top], or apt install python3-rich; '
                'with --once it needs nothing',
                file=sys.stderr,
            )
            return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with watching(TOOL) as watcher:
            view = View(watcher, names)
            if options.once:
                return view.print_once(options.wait)
            view.run()
    except KeyboardInterrupt:
        pass
    return 0


class View:
    """What is shown of the nodes that a watcher hears.

    Parameters
    ----------
    watcher : Watcher
        Hears the diagnostics.
    names : sequence of str
        Fully qualified names of the nodes to show; empty: all.
    """

    def __init__(self, watcher: Any, names: Sequence[str]) -> None:
        self._watcher, self._names = watcher, names
        self._rates: dict[str, Rates] = {}

    def _seen(self) -> list[Any]:
        seen = [s for s in self._watcher.seen.values() if not self._names or s.node in self._names]
        for one in seen:
            self._rates.setdefault(one.node, Rates()).add(one.heard, one.figures)
        return sorted(seen, key=lambda one: one.node)

    def blocks(self, width: int) -> list[tuple[Level, str, list[str]]]:
        """Return of each node the level, the word for it, and its lines."""
        found = []
        for one in self._seen():
            silent = time.monotonic() - one.heard
            lines = lines_of(
                one.node,
                one.level,
                one.message,
                one.figures,
                self._rates[one.node].shown(),
                silent,
                datetime.now(timezone.utc),
                width,
            )
            level = Level.STALE if silent > SILENT_AFTER else one.level
            found.append((level, level_word(one.level, silent), lines))
        return found

    def _all_known(self) -> bool:
        """Return whether all nodes that were named are heard, with their rates."""
        known = [name for name in self._names if name in self._rates]
        return bool(known) and all(
            name in known and self._rates[name].are_known for name in self._names
        )

    def _missing(self) -> list[str]:
        return [name for name in self._names if name not in self._watcher.seen]

    def print_once(self, wait: float) -> int:
        """Listen, print what was heard, and return the exit code."""
        end = time.monotonic() + wait
        while (left := end - time.monotonic()) > 0.0 and not self._all_known():
            self._watcher.spin(min(left, 0.1))
            self._seen()
        blocks = self.blocks(_width())
        for _, _, lines in blocks:
            print('\n'.join(lines))
        missing = self._missing()
        if missing or not blocks:
            who = ', '.join(missing) or 'any calibration node'
            print(
                f'{TOOL}: no diagnostics of {who} came within {wait:g} s: is it running, and in '
                f'ROS domain {os.environ.get("ROS_DOMAIN_ID", "0")}?',
                file=sys.stderr,
            )
        bad = any(level == Level.ERROR for level, _, _ in blocks)
        return 1 if bad or missing or not blocks else 0

    def run(self) -> None:
        """Show the nodes until SIGINT."""
        from rich.console import Console
        from rich.live import Live

        console = Console(highlight=False)
        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                self._watcher.spin(1.0)
                live.update(self._text(console.width), refresh=True)

    def _text(self, width: int) -> Any:
        from rich.text import Text

        text = Text(no_wrap=True, overflow='ellipsis')
        blocks = self.blocks(width)
        for level, word, lines in blocks:
            head, *rest = lines
            text.append(head[: -len(word)], 'bold')
            text.append(f'{word}\n', f'bold {COLOURS[level]}')
            for line in rest:
                text.append(f'{line}\n')
        for name in self._missing():
            text.append(f'{name}: no diagnostics yet\n')
        if not blocks and not self._names:
            text.append('no calibration node is heard yet\n')
        return text


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


if __name__ == '__main__':
    sys.exit(main())
