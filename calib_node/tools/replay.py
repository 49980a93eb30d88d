#!/usr/bin/env python3
# PYTHON_ARGCOMPLETE_OK
# SPDX-License-Identifier: Apache-2.0
"""calib_replay: what calibration would have done on recordings, and the state to start from."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib_node.core.state.disk import read_document
from calib_node.core.state.document import make_document, restore_document
from calib_node.core.state.fields import StateError
from calib_node.core.state.file import StateFile, StateFileInUse
from calib_node.stream.assembly import make_calibrator
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level
from calib_node.tools import replay_units, whatif
from calib_node.tools.command_line import parse
from calib_node.tools.progress import Progress

if TYPE_CHECKING:
    from calib_node.bags.driver import Driver
    from calib_node.bags.node_arguments import NodeArguments
    from calib_node.bags.playback import Playback, Source

TOOL = 'calib_replay'
SHOWN_PROBLEMS = 20


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
        'bags', nargs='+', type=Path, metavar='BAG', help='folder or file of a recording'
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
    from calib_node.bags.node_arguments import node_arguments
    from calib_node.bags.playback import Playback, Source

    node = node_arguments(options.params_file, options.param, options.remap)
    settings = Settings.from_mapping(node.parameters)
    source = Source(
        tuple(options.bags),
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
        return replay_all(options, node, settings, source)
    with Playback(source, settings) as playback:
        return replay_once(options, node, settings, playback)


def warn(sentence: str) -> None:
    """Tell of what is not as it should be, and does not end the replay."""
    print(f'{TOOL}: {sentence}', file=sys.stderr)


class Told:
    """Takes in what a stream tells; each kind of thing is said once."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._known: set[str] = set()

    def __call__(self, level: Level, kind: str, sentence: str) -> None:
        """Say it, unless it was said."""
        if level in (Level.WARN, Level.ERROR) and kind not in self._known and not self._quiet:
            self._known.add(kind)
            warn(sentence)


def replay_once(
    options: argparse.Namespace,
    node: NodeArguments,
    settings: Settings,
    playback: Playback,
) -> int:
    """Replay in this process; return the exit code."""
    from calib_node.bags.comparison import Comparison
    from calib_node.bags.copy import Copy
    from calib_node.bags.driver import Driver
    from calib_node.bags.replay import Clock, replay
    from calib_node.bags.samples import SampleFile
    from calib_node.report.page import write_report
    from calib_node.tools.report_data import Collector

    driver = Driver(settings, playback.messages, Told(options.quiet))
    pipeline, clock = driver.stream.pipeline, Clock()
    if options.start is not None:
        start_from(options.start, driver)
    found = whatif.candidates(options, node.parameters, settings)
    comparison = Comparison([*found], settings.classes, whatif.costs(options))
    panel = whatif.join(driver, found, comparison)
    with ExitStack() as outputs:
        copy = None
        if options.output is not None:
            calibrated = node.topic('calibrated_probabilities')
            copy = outputs.enter_context(Copy(options.output, playback, calibrated))
            playback.recordings[0].problems += copy.problems
        if options.samples is not None:
            variables = settings.context.variables
            file = SampleFile(options.samples, settings.classes, variables, clock)
            pipeline.on_match.append(outputs.enter_context(file))
        progress = outputs.enter_context(Progress(playback.total, 'replayed', options.quiet))
        ticks = [lambda messages: progress.advance(count=messages)]
        if options.report is not None:
            collector = Collector(driver.stream, clock)
            ticks.append(collector.tick)
        begin = time.monotonic()
        count = replay(driver, playback, clock, copy, ticks)
        seconds = time.monotonic() - begin
    for problem in playback.problems[:SHOWN_PROBLEMS]:
        warn(problem)
    if panel is not None:
        panel.tell(comparison)
    print('\n'.join([*summary(driver, count, seconds, comparison.count), '', *comparison.lines()]))
    if options.state is not None:
        save(options.state, make_document(driver.stream.calibrator, node.node), node.node)
    if options.report is not None:
        title = 'Are the probabilities honest?'
        source = f'Recording {", ".join(map(str, options.bags))}, {playback.source.raw}'
        rows = comparison.rows() if len(found) > 1 else []
        write_report(options.report, collector.data(title, source, rows))
        print(f'Report   {options.report}')
    for name, path in (('Samples', options.samples), ('Output', options.output)):
        if path is not None:
            print(f'{name:8} {path}')
    return 0 if comparison.count else 1


def start_from(path: Path, driver: Driver) -> None:
    """Let the calibrator go on from a state file."""
    try:
        restore_document(driver.stream.calibrator, read_document(path))
    except FileNotFoundError:
        raise StateError(f'--start {path}: there is no such file') from None
    except StateError as error:
        raise StateError(f'--start {path} cannot be used: {error}') from None


def replay_all(
    options: argparse.Namespace, node: NodeArguments, settings: Settings, source: Source
) -> int:
    """Replay in several processes, or merge what several recordings teach; return the exit code."""
    state, lines, problems = replay_units.replay(options, node.parameters, settings, source)
    for problem in problems[:SHOWN_PROBLEMS]:
        warn(problem)
    print('\n'.join(lines))
    if options.state is not None:
        if not state:
            raise StateError(f'--state {options.state}: there is no state of {settings.method}')
        calibrator = make_calibrator(settings)
        calibrator.restore(state)
        save(options.state, make_document(calibrator, node.node), node.node)
    return 0 if state.get('updates') else 1


def save(path: Path, document: dict[str, Any], node: str) -> None:
    """Write what was learned; what is at the path is kept beside it."""
    file = StateFile(path.absolute(), node)
    problem = file.lock()
    if problem:
        raise StateError(f'--state {path}: {problem}')
    try:
        file.save(document)
    except OSError as error:
        raise StateError(f'--state {path} cannot be written: {error.strerror}') from None
    finally:
        file.unlock()
    for note in file.notes:
        warn(note)
    print(f'State    {path}')


def summary(driver: Driver, count: int, seconds: float, matches: int) -> list[str]:
    """Return what became of the messages, in lines."""
    pipeline: Any = driver.stream.pipeline
    counts = pipeline.counts
    rate = f', {count / seconds:,.0f} a second' if seconds > 0.0 else ''
    status = driver.stream.status()
    return [
        f'{count:,} messages in {seconds:.1f} s{rate}: {counts.predictions:,} predictions, '
        f'{counts.labels:,} labels, {matches:,} matched',
        f'{status.level.name}: {status.message}',
    ]


if __name__ == '__main__':
    sys.exit(main())
