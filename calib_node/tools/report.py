#!/usr/bin/env python3
# PYTHON_ARGCOMPLETE_OK
# SPDX-License-Identifier: Apache-2.0
"""calib_report: one page on whether the numbers were honest, are now, and how to use them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from calib_node.core.state.disk import read_document
from calib_node.core.state.fields import StateError
from calib_node.report.data import ReportData, ReportError
from calib_node.report.page import write_figures, write_report
from calib_node.report.samples import read_samples
from calib_node.tools.command_line import parse

TOOL = 'calib_report'


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description='Writes one page, in HTML and without anything loaded from elsewhere: were the '
        'numbers honest, are they now, what does it change, can I trust this, how do I use it.',
        epilog='calib_replay --report makes the same page with all that a recording tells.',
    )
    parser.add_argument(
        '--samples', type=Path, metavar='FILE', help='matches, as calib_replay --samples has them'
    )
    parser.add_argument('--state', type=Path, metavar='FILE', help='a state file')
    parser.add_argument(
        '--node', metavar='NAME', help='a node that runs, such as /calib_node; it takes ROS'
    )
    parser.add_argument(
        '--params-file', type=Path, metavar='FILE', help='the parameters to show on the page'
    )
    parser.add_argument(
        '--output',
        type=Path,
        default=Path('report.html'),
        metavar='FILE',
        help='the page (default: %(default)s)',
    )
    parser.add_argument('--figures', type=Path, metavar='DIR', help='its figures as PNGs too')
    parser.add_argument('--title', metavar='TEXT', help='of the page')
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and write the page; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = make_parser()
    options = parse(parser, given)
    if options.samples is None and options.state is None and options.node is None:
        parser.error('name what the report is on: --samples, --state or --node')
    try:
        data = gather(options)
        write_report(options.output, data)
        print(f'Report   {options.output}')
        if options.figures is not None:
            for path in write_figures(options.figures, data):
                print(f'Figure   {path}')
    except (ReportError, StateError, OSError) as error:
        print(f'{TOOL}: {error}', file=sys.stderr)
        return 1
    return 0


def gather(options: argparse.Namespace) -> ReportData:
    """Return all that is known from what was named."""
    sources = []
    data = ReportData('', '')
    if options.node is not None:
        from calib_node.tools.report_node import ask

        data = ask(options.node)
        sources.append(f'node {options.node}')
    if options.samples is not None:
        data.samples = read_samples(options.samples)
        sources.append(f'matches of {options.samples}')
    if options.state is not None:
        try:
            data.state = read_document(options.state)
        except FileNotFoundError:
            raise ReportError(f'--state {options.state}: there is no such file') from None
        except StateError as error:
            raise ReportError(f'--state {options.state} cannot be used: {error}') from None
        sources.append(f'state file {options.state}')
    if options.params_file is not None:
        try:
            data.parameters = options.params_file.read_text(encoding='utf-8')
            yaml.safe_load(data.parameters)
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = ' '.join(str(error).split())
            raise ReportError(
                f'--params-file {options.params_file} cannot be read: {reason}'
            ) from None
    data.source = 'From ' + ', '.join(sources)
    data.title = options.title or 'Are the probabilities honest?'
    return data


if __name__ == '__main__':
    sys.exit(main())
