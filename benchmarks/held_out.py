#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mixture against every other method on 67 generated streams, with labels at once and late.

They come from generators of river and scikit-learn, over which a model goes that learns no more,
and from distributions. Another set has other seeds and drift positions. The experts of the mixture
and its constants were chosen on set 0; any other set is held out.

Needs river and scikit-learn: pip install -r requirements/benchmark.txt
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import dataclass
from operator import gt
from pathlib import Path
from statistics import mean, median

try:
    from held_out_streams import STREAMS, load
    from streams import delays, names
except ImportError as error:
    raise SystemExit(
        f'{error.name} is missing: pip install -r requirements/benchmark.txt'
    ) from error

from streams_runs import MARGIN, allowance, forecasts
from streams_tables import Table

from calib_node.core.calibrators import CALIBRATORS, create
from calib_node.core.metrics import log_loss
from calib_node.tools.progress import Progress

Job = tuple[str, int, int | None, list[int]]
"""Name of a stream, number of the set, its first samples, and delays."""


@dataclass(frozen=True)
class Result:
    """What was measured on a stream."""

    name: str
    count: int
    losses: dict[int, dict[str, float]]
    """Log-loss by delay and method."""

    def best(self, delay: int) -> str:
        """Return the best of the methods other than the mixture."""
        losses = self.losses[delay]
        return min((name for name in losses if name != 'mixture'), key=lambda name: losses[name])

    def excess(self, delay: int) -> float:
        """Return by how much the mixture is above it."""
        return self.losses[delay]['mixture'] - self.losses[delay][self.best(delay)]


def measure(job: Job) -> Result:
    """Run every method over one stream at every delay."""
    name, number, count, late = job
    samples = load(name, number, count)
    losses = {
        delay: {
            method: log_loss(forecasts(create(method), samples, delay), samples.y)
            for method in CALIBRATORS
        }
        for delay in late
    }
    return Result(name, len(samples), losses)


def measure_all(jobs: list[Job], processes: int) -> Iterator[Result]:
    """Yield what was measured on each stream as it is done."""
    if processes == 1:
        yield from map(measure, jobs)
        return
    with multiprocessing.Pool(processes) as pool:
        yield from pool.imap_unordered(measure, jobs)


def summary(results: list[Result], late: list[int], number: int) -> Table:
    """Return a row for each delay, over all streams."""
    table = Table(
        f'Set {number}, {len(results)} streams: mixture less the best other method',
        'log-loss, p clipped to [.001, .999]; above zero the mixture is worse; allowed is '
        'max(.001, (1+D) ln K/n)',
        ['late', 'mean', 'median', 'worst', 'which is on', 'above by > .001', 'above the allowed'],
    )
    for delay in late:
        excesses = [result.excess(delay) for result in results]
        worst = max(excesses)
        where = results[excesses.index(worst)].name
        above = sum(excess > MARGIN for excess in excesses)
        allowed = (allowance(delay, result.count) for result in results)
        beyond = sum(map(gt, excesses, allowed))
        values = map(signed, (mean(excesses), median(excesses), worst))
        table.rows.append([str(delay), *values, where, str(above), str(beyond)])
    return table


def each(results: list[Result], late: list[int]) -> Table:
    """Return a row for each stream."""
    table = Table(
        'Each stream',
        'the same difference, and the best other method',
        ['stream', 'n', *(f'{delay} late' for delay in late)],
    )
    for result in results:
        cells = (f'{signed(result.excess(delay))} {result.best(delay)}' for delay in late)
        table.rows.append([result.name, str(result.count), *cells])
    return table


def signed(value: float) -> str:
    """Return a number to four digits with its sign, without a leading zero."""
    return f'{value:+.4f}'.replace('0.', '.', 1)


def number(text: str) -> int:
    """Read a number from 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError('a set is a number from 0')
    return value


def read_arguments(command: list[str] | None) -> argparse.Namespace:
    """Read the command line, or the one given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--set', type=number, default=2, help='which draw; 2 if not given')
    known = tuple(STREAMS)
    parser.add_argument(
        '--streams', type=names(known), default=list(known), help=f'among {",".join(known)}'
    )
    parser.add_argument('--delays', type=delays, default=[0, 20, 50, 300], help='0,20,50,300')
    parser.add_argument('--samples', type=int, help='use only the first samples of each stream')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1, help='processes')
    parser.add_argument('--markdown', type=Path, help='write the tables to this file as well')
    return parser.parse_args(command)


def main(command: list[str] | None = None) -> None:
    """Run the benchmark."""
    arguments = read_arguments(command)
    jobs = [
        (name, arguments.set, arguments.samples, arguments.delays) for name in arguments.streams
    ]
    results = []
    with Progress(len(jobs), 'streams') as progress:
        for result in measure_all(jobs, arguments.jobs):
            results.append(result)
            progress.advance(result.name)
    results.sort(key=lambda result: arguments.streams.index(result.name))
    tables = [summary(results, arguments.delays, arguments.set), each(results, arguments.delays)]
    for table in tables:
        print(f'\n{table.text()}')
    if arguments.markdown is not None:
        text = '\n\n'.join(table.markdown() for table in tables)
        arguments.markdown.write_text(f'{text}\n', encoding='utf-8')


if __name__ == '__main__':
    main()
