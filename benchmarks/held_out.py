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
from functools import partial
from statistics import mean, median

try:
    from generators import STREAMS, load
except ImportError as error:
    raise SystemExit(
        f'{error.name} is missing: pip install -r requirements/benchmark.txt'
    ) from error

from runs import MARGIN, Job, Key, Samples, add_options, allowance, excess, run_all
from tables import Table

from calib_node.core.metrics import log_loss

Losses = dict[Key, float]


def behind(losses: Losses, name: str, delay: int) -> tuple[float, str]:
    """Return the `excess` on a stream."""
    return excess({m: loss for (s, m, d), loss in losses.items() if (s, d) == (name, delay)})


def summary(streams: list[Samples], losses: Losses, late: list[int], number: int) -> Table:
    """Return a row for each delay, over all streams."""
    table = Table(
        f'Set {number}, {len(streams)} streams: mixture less the best other method',
        'log-loss, p clipped to [.001, .999]; above zero the mixture is worse; allowed is '
        'max(.001, (1+D) ln K/n)',
        ['late', 'mean', 'median', 'worst', 'which is on', 'above by > .001', 'above the allowed'],
    )
    for delay in late:
        found = [behind(losses, samples.name, delay)[0] for samples in streams]
        worst = max(found)
        above = sum(value > MARGIN for value in found)
        beyond = sum(v > allowance(delay, len(s)) for v, s in zip(found, streams, strict=True))
        values = map(signed, (mean(found), median(found), worst))
        where = streams[found.index(worst)].name
        table.rows.append([str(delay), *values, where, str(above), str(beyond)])
    return table


def each(streams: list[Samples], losses: Losses, late: list[int]) -> Table:
    """Return a row for each stream."""
    table = Table(
        'Each stream',
        'the same difference, and the best other method',
        ['stream', 'n', *(f'{delay} late' for delay in late)],
    )
    for samples in streams:
        found = (behind(losses, samples.name, delay) for delay in late)
        cells = (f'{signed(value)} {best}' for value, best in found)
        table.rows.append([samples.name, str(len(samples)), *cells])
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


def main(command: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--set', type=number, default=2, help='which draw; 2 if not given')
    add_options(parser, STREAMS)
    arguments = parser.parse_args(command)
    late, methods = arguments.delays, arguments.methods
    jobs = [
        Job(partial(load, name, arguments.set, arguments.samples), methods, late, log_loss)
        for name in arguments.streams
    ]
    streams, losses = run_all(jobs, arguments.jobs)
    print(summary(streams, losses, late, arguments.set), each(streams, losses, late), sep='\n\n')


if __name__ == '__main__':
    main()
