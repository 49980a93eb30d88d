#!/usr/bin/env python3
# PYTHON_ARGCOMPLETE_OK
# SPDX-License-Identifier: Apache-2.0
"""calib_replay: what calibration would have done on recordings, and the state to start from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from calib_node.core.state.fields import StateError
from calib_node.core.state.file import StateFileInUse
from calib_node.stream.settings import Settings
from calib_node.tools import replay_units, whatif
from calib_node.tools.command_line import parse
from calib_node.tools.replay_once import TOOL, replay_once, warn


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description='Puts recordings through the calibration that the node does, without ROS: '
        'shows what it would have done, compares methods, and writes the state that a robot can '
        'start from. It takes the parameters and remaps of the node.',
        epilog='Exit code: 0 if labels found their predictions, 1 if not or if something could '
        'not be read or written, 2 for a wrong command line.',
    )
    parser.add_argument(
        'bags',
        nargs='+',
        type=Path,
        metavar='BAG',
        help='folder or file of a recording, or a folder of several',
    )
    node = parser.add_argument_group('as the node')
    node.add_argument(
        '--params-file', action='append', default=[], metavar='FILE', help='parameters in YAML'
    )
    node.add_argument(
        '-p', '--param', action='append', default=[], metavar='NAME:=VALUE', help='a parameter'
    )
    node.add_argument(
        '-r',
        '--remap',
        action='append',
        default=[],
        metavar='FROM:=TO',
        help='another name, such as raw_probabilities:=/perception/door',
    )
    order = parser.add_argument_group('the recordings')
    order.add_argument(
        '--order',
        choices=('log', 'publish', 'stamp'),
        default='log',
        help='by the time of recording, of publication (mcap alone has it), or by the stamps in '
        'the messages, as if labels came at once (default: log)',
    )
    order.add_argument(
        '--together',
        action='store_true',
        help='the recordings are of the same time and are merged, such as predictions in one and '
        'labels in another; else they are replayed one after the other',
    )
    order.add_argument(
        '--definitions', type=Path, metavar='DIR', help='folder of .msg files for types unknown'
    )
    order.add_argument(
        '--start', type=Path, metavar='FILE', help='go on from this state file; it stays as it is'
    )
    out = parser.add_argument_group('what is written')
    out.add_argument('--state', type=Path, metavar='FILE', help='what was learned, for the node')
    out.add_argument(
        '--samples', type=Path, metavar='FILE', help='a row for each match: .csv or .parquet'
    )
    out.add_argument(
        '--output', type=Path, metavar='BAG', help='the recording with the calibrated topic in it'
    )
    out.add_argument('--report', type=Path, metavar='FILE', help='a page on it, in HTML')
    out.add_argument(
        '--dry-run', action='store_true', help='only look: topics, types, stamps, what would match'
    )
    out.add_argument('-q', '--quiet', action='store_true', help='no progress, no notes')
    whatif.add_arguments(parser)
    replay_units.add_arguments(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and replay; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parse(make_parser(), given)
    try:
        from calib_node.bags.problems import RecordingError
        from calib_node.bags.recording import Recording  # noqa: F401
        from calib_node.report.data import ReportError
    except ImportError as error:
        print(
            f'{TOOL} needs rosbags ({error}): pip install calib_node[replay]',
            file=sys.stderr,
        )
        return 1
    try:
        return run(options)
    except (RecordingError, ReportError, StateError, StateFileInUse, ValueError, OSError) as error:
        print(f'{TOOL}: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f'\n{TOOL}: stopped; no state was written', file=sys.stderr)
        return 130


def run(options: argparse.Namespace) -> int:
    """Do what is asked for; return the exit code."""
    from calib_node.bags.files import recordings_in
    from calib_node.bags.node_arguments import node_arguments
    from calib_node.bags.playback import Playback, Source

    node = node_arguments(options.params_file, options.param, options.remap)
    settings = Settings.from_mapping(node.parameters)
    source = Source(
        tuple(path for given in options.bags for path in recordings_in(given)),
        node.topic('raw_probabilities'),
        node.topic('labels'),
        options.order,
        options.together,
        options.definitions,
        options.output is not None,
    )
    if not options.quiet:
        for note in settings.notes:
            warn(note)
    if options.dry_run:
        from calib_node.bags.dry_run import look

        for line in look(source, settings):
            print(line)
        return 0
    if replay_units.wanted(options):
        return replay_units.replay_all(options, node, settings, source)
    with Playback(source, settings) as playback:
        return replay_once(options, node, settings, playback)


if __name__ == '__main__':
    sys.exit(main())
