#!/usr/bin/env python3
# PYTHON_ARGCOMPLETE_OK
# SPDX-License-Identifier: Apache-2.0
"""Plays a real classifier's recorded answers to the node and shows what calibration does.

``python -m calib_node.tools.demo`` starts the node's own executable, publishes the answers as the
classifier would have, sends the labels late and out of order, restarts the node half way, and
compares raw with calibrated probabilities.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib_node.core.calibrators import StateError
from calib_node.core.state.disk import read_document
from calib_node.tools.command_line import parse
from calib_node.tools.figure import write_png
from calib_node.tools.node_process import NodeError, find_executable
from calib_node.tools.recording import Answer, Sample, load_recording
from calib_node.tools.summary import can_encode, diagram_lines, score_table, write_csv

if TYPE_CHECKING:
    from calib_node.tools.session import Session

TOOL = 'calib_demo'
DELAYS = (0.1, 2.0)
"""Seconds between an answer and its label: the least and the most."""

FILES = (
    'state.yaml', 'state.yaml.bak', 'node.log', 'samples.csv', 'reliability.png', 'report.html',
)  # fmt: skip


def make_parser(most: int) -> argparse.ArgumentParser:
    """Return the parser of the command line; at most `most` answers can be played."""
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description='Plays the recorded answers of a real classifier to the node over ROS, labels '
        'late and out of order, restarts the node half way, and compares raw with calibrated '
        'probabilities. Takes about half a minute.',
        epilog='A robot that runs here is not disturbed: the demo keeps to the namespace '
        '/calib_demo, to this machine (unless ROS_AUTOMATIC_DISCOVERY_RANGE is set) and to a '
        'state file of its own. Exit code: 0 if all went well, 1 if not, 130 after Ctrl-C.',
    )
    parser.add_argument(
        '--rate', type=float, default=100.0, help='answers a second, 1 to 1000 (default: 100)'
    )
    parser.add_argument(
        '--samples', type=int, default=most, help=f'answers to play, 2 to {most} (default: all)'
    )
    parser.add_argument(
        '--seed', type=int, default=0, help='of the delays of the labels (default: 0)'
    )
    parser.add_argument(
        '--output',
        type=Path,
        default=Path('demo_output'),
        metavar='DIR',
        help='folder for figure, samples, state and log; those of an earlier demo are '
        'overwritten (default: %(default)s)',
    )
    return parser


def options_of(arguments: Sequence[str] | None, most: int) -> argparse.Namespace:
    """Read the command line."""
    parser = make_parser(most)
    options = parse(parser, sys.argv[1:] if arguments is None else arguments)
    if not 1.0 <= options.rate <= 1000.0:
        parser.error(f'--rate must be 1 to 1000, not {options.rate:g}')
    if not 2 <= options.samples <= most:
        parser.error(f'--samples must be 2 to {most}, not {options.samples}')
    return options


def claim_domain() -> socket.socket:
    """Keep other demos off this machine's ROS domain as long as the result lives."""
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    mark = socket.socket(socket.AF_UNIX)
    try:
        # An abstract address: it is gone with the process.
        mark.bind(f'\0calib_node demo {domain}')
    except OSError:
        mark.close()
        raise NodeError(
            f'Another demo runs in ROS domain {domain}: wait until it has ended, or set another '
            'ROS_DOMAIN_ID.'
        ) from None
    return mark


def prepare(output: Path) -> None:
    """Make the folder, without the files of an earlier demo."""
    output.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (output / name).unlink(missing_ok=True)
    recording = output / 'recording'
    if (recording / 'metadata.yaml').exists():
        shutil.rmtree(recording)


def introduce(answers: Sequence[Answer], executable: Path, output: Path) -> None:
    """Say what is played, and where to listen."""
    from calib_node.tools.session import NAMESPACE

    total = len(answers)
    right = sum((answer.probability > 0.5) == answer.label for answer in answers) / total
    sure = sum(max(answer.probability, 1.0 - answer.probability) for answer in answers) / total
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    print(
        'A Gaussian naive Bayes classifier decides from image patches whether ground is\n'
        f'drivable: right {right:.0%} of the time, and {sure:.0%} sure. {total} of its answers '
        'are played.\n\n'
        f'Node     {executable}\n'
        f'Listen   ros2 topic echo {NAMESPACE}/calibrated_probabilities (domain {domain})\n'
        f'Output   {output}{os.sep}'
    )


def report(samples: Sequence[Sample], session: Session, output: Path) -> None:
    """Show the figures and the diagram, and write the files."""
    from calib_node.tools.session import NAMESPACE, RECORDING

    heard = [(s.raw, s.calibrated, s.label) for s in samples if s.calibrated is not None]
    raw, calibrated, labels = zip(*heard)
    print(f'\nRaw against calibrated, over all {len(heard)} predictions that came back\n')
    print('\n'.join(score_table(raw, calibrated, labels)))
    print(
        '\nReliability: the bar is how often it was so, the mark what was said on average;\n'
        'where the numbers are honest, the bar ends at the mark\n'
    )
    print('\n'.join(diagram_lines(raw, calibrated, labels, can_encode(sys.stdout.encoding))))
    state = read_document(session.state_file)
    print(
        f'\ncalibrated = sigmoid(a logit(raw) + b), with a = {state["a"]:.4f} and '
        f'b = {state["b"]:.4f}\nlearned from {state["updates"]} labels\n'
    )
    table, figure = output / 'samples.csv', output / 'reliability.png'
    write_csv(table, samples)
    title = f'Is the ground drivable? {len(heard)} answers of naive Bayes on image patches'
    drawn = write_png(figure, title, raw, calibrated, labels)
    print(f'Figure   {figure if drawn else "none, since matplotlib is not installed"}')
    print(f'Samples  {table}\nState    {session.state_file}\nLog      {session.log}')
    print(f'Report   {write_page(output, title, samples, state, session)}')
    if session.recording.written:
        recording = output / RECORDING
        print(
            f'Recorded {recording}\n\nReplay it with all methods:\n'
            f'  calib_replay {recording} -r __ns:={NAMESPACE} --all'
        )
    else:
        print('Recorded nothing, since rosbags is not installed')


def write_page(
    output: Path, title: str, samples: Sequence[Sample], state: dict[str, Any], session: Session
) -> str:
    """Write the page on the run; return where it is, or why there is none."""
    import numpy as np

    from calib_node.report.data import ReportData, ReportError, Samples
    from calib_node.report.page import write_report

    heard = [s for s in samples if s.calibrated is not None]
    matches = Samples(
        np.array([s.stamp for s in heard]),
        np.array([s.raw for s in heard]),
        np.array([s.calibrated for s in heard]),
        np.array([s.label for s in heard]),
    )
    path = output / 'report.html'
    source = 'The demo: recorded answers of a naive Bayes classifier, played to the node'
    # Without those that only see whether a topic gets through.
    figures = {**session.figures, 'predictions': str(len(samples)), 'labels': str(len(samples))}
    try:
        write_report(path, ReportData(title, source, matches, figures, [], state))
    except ReportError as error:
        return f'none: {error}'
    return str(path)


def run(options: argparse.Namespace, answers: Sequence[Answer]) -> int:
    """Run the demo; return the exit code."""
    try:
        from calib_node.tools.session import Session, Stopped
    except ImportError as error:
        raise NodeError(
            f'ROS is not here ({error}): run scripts/demo, or source a ROS installation first.'
        ) from None
    executable = find_executable()
    session = Session(executable, options.output, options.rate)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: session.signals.append(received))
    chance = random.Random(options.seed)
    delays = [chance.uniform(*DELAYS) for _ in answers]
    try:
        with claim_domain():
            prepare(options.output)
            introduce(answers, executable, options.output)
            samples = session.run(answers, delays)
        report(samples, session, options.output)
        session.check()
    except Stopped:
        print('\nStopped, and the node too.', file=sys.stderr)
        return 128 + session.signals[0]
    for complaint in session.complaints:
        print(f'Not as it should be: {complaint}.', file=sys.stderr)
    return 1 if session.complaints else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run the demo; return the exit code."""
    recording = load_recording()
    options = options_of(arguments, len(recording))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Line by line into a pipe too: who watches it sees what happens.
        sys.stdout.reconfigure(line_buffering=True)
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    if os.environ.get('ROS_DISTRO') == 'humble':
        os.environ.setdefault('ROS_LOCALHOST_ONLY', '1')
    try:
        return run(options, recording[: options.samples])
    except (NodeError, StateError) as error:
        print(f'\n{error}', file=sys.stderr)
    except OSError as error:
        print(f'\nThe demo cannot go on: {error}', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
