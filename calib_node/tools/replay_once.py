# SPDX-License-Identifier: Apache-2.0
"""A replay in one process: what goes in, what is written, and what is said of it."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib_node.core.state.disk import read_document
from calib_node.core.state.document import make_document, restore_document
from calib_node.core.state.fields import StateError
from calib_node.core.state.file import StateFile
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level
from calib_node.tools import whatif
from calib_node.tools.progress import Progress

if TYPE_CHECKING:
    from calib_node.bags.driver import Driver
    from calib_node.bags.node_arguments import NodeArguments
    from calib_node.bags.playback import Playback

TOOL = 'calib_replay'
SHOWN_PROBLEMS = 20


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
        save(options.state, make_document(driver.stream.kept, node.node), node.node)
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
        restore_document(driver.stream.kept, read_document(path))
    except FileNotFoundError:
        raise StateError(f'--start {path}: there is no such file') from None
    except StateError as error:
        raise StateError(f'--start {path} cannot be used: {error}') from None


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
