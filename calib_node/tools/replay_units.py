# SPDX-License-Identifier: Apache-2.0
"""Replays of several methods and recordings at once, in processes or on a cluster."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from calib_node.core.state.disk import read_document
from calib_node.core.state.document import make_document
from calib_node.core.state.fields import StateError
from calib_node.stream.assembly import make_calibrator
from calib_node.stream.kept import Kept
from calib_node.stream.watch import Watch
from calib_node.tools import whatif
from calib_node.tools.progress import Progress
from calib_node.tools.replay_once import SHOWN_PROBLEMS, save, warn

if TYPE_CHECKING:
    from calib_node.bags.node_arguments import NodeArguments
    from calib_node.bags.playback import Source
    from calib_node.bags.units import Outcome
    from calib_node.stream.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where replays run."""
    group = parser.add_argument_group(
        'more than one core', 'a replay for each method, and with --states merge each recording'
    )
    group.add_argument('--workers', type=int, metavar='N', help='processes on this machine')
    group.add_argument(
        '--scheduler', metavar='ADDRESS', help='a Dask cluster, such as tcp://10.0.0.1:8786'
    )
    group.add_argument(
        '--states',
        choices=('chain', 'merge'),
        default='chain',
        help='what was learned of several recordings: one goes on from the other, or each is '
        'replayed from the start and the states are added (default: chain)',
    )


def wanted(options: argparse.Namespace) -> bool:
    """Return whether replays are to run so; refuse options that do not go with it."""
    if options.workers is None and options.scheduler is None and options.states == 'chain':
        return False
    if options.workers is not None and options.scheduler is not None:
        raise ValueError('name one of --workers and --scheduler')
    if options.workers is not None and options.workers < 1:
        raise ValueError(f'--workers must be at least 1, not {options.workers}')
    for name in ('samples', 'output', 'report'):
        if getattr(options, name) is not None:
            raise ValueError(
                f'--{name} is of one replay in one process: leave out --workers, --scheduler and '
                '--states merge'
            )
    if options.states == 'merge' and options.start is not None:
        raise ValueError(
            '--states merge adds what was learned from nothing: leave out --start, or chain'
        )
    return True


def replay(
    options: argparse.Namespace,
    parameters: Mapping[str, Any],
    settings: Settings,
    source: Source,
) -> tuple[dict[str, Any], list[str], list[str], int]:
    """Replay all; return the state of the parameters' own method, lines, problems and matches."""
    from calib_node.bags.cluster import cluster_at, local_cluster, runner
    from calib_node.bags.units import Run, combined, run_here, units_of

    found = whatif.candidates(options, parameters, settings)
    units = units_of(
        source,
        {name: other.values for name, other in found.items()},
        options.states == 'merge',
        whatif.costs(options),
        None if options.start is None else read_document(options.start),
    )
    run: Run = run_here
    begin = time.monotonic()
    with ExitStack() as end:
        if options.scheduler is not None:
            run = runner(end.enter_context(cluster_at(options.scheduler)))
        elif options.workers is not None:
            run = runner(end.enter_context(local_cluster(min(options.workers, len(units)))))
        progress = end.enter_context(Progress(len(units), 'replays done', options.quiet))

        def done(_: Outcome) -> None:
            progress.advance()

        outcomes = run(units, done)
    states, comparison = combined(units, outcomes)
    own = next(iter(found))
    messages = sum(o.count for u, o in zip(units, outcomes) if u.name == own)
    lines = [
        f'{messages:,} messages with each of {len(found)} methods in '
        f'{time.monotonic() - begin:.1f} s: {comparison.count:,} matched',
        '',
        *comparison.lines(),
    ]
    problems = [p for u, o in zip(units, outcomes) if u.name == own for p in o.problems]
    return states[own], lines, problems, comparison.count


def replay_all(
    options: argparse.Namespace, node: NodeArguments, settings: Settings, source: Source
) -> int:
    """Replay in several processes, or merge what several recordings teach; return the exit code."""
    found = replay(options, node.parameters, settings, source)
    state, lines, problems, matches = found
    for problem in problems[:SHOWN_PROBLEMS]:
        warn(problem)
    print('\n'.join(lines))
    if options.state is not None:
        if not state:
            raise StateError(f'--state {options.state}: there is no state of {settings.method}')
        kept = Kept(make_calibrator(settings), Watch(settings))
        kept.restore(state)
        save(options.state, make_document(kept, node.node), node.node)
    return 0 if matches else 1
