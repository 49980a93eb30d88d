#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every calibration method on streams of real and generated data, beside reference values.

Seven streams: a Hoeffding tree that learns 500 samples and no more, over the first 5 000 rows
(Phishing 1 250) of data that river ships or generates. Elec2 and the two forests are files of
their own, looked up in --data; one that is missing is left out with a sentence.

Needs river: pip install -r requirements/benchmark.txt
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

try:
    from streams_data import FILES, NAMES, find, load
except ImportError as error:
    raise SystemExit(
        f'{error.name} is missing: pip install -r requirements/benchmark.txt'
    ) from error

from runs import MARGIN, Job, Key, Samples, add_options, allowance, excess, run_all
from tables import Table, digits, marked

from calib_node.core.metrics import accuracy, brier, ece, log_loss

REFERENCE = Path(__file__).parents[1] / 'test' / 'core' / 'reference' / 'streams.json'
RANDOM = ('hops', 'hobs')
"""Methods whose reference values had other random numbers."""
FIRST = 1000
"""Samples that a calibration error leaves out: the paper fits its fixed maps on them."""

CALIBRATION_ERRORS = {
    'bank': {
        'identity': (0.0322, 0.0024),
        'ops': (0.0308, 0.0013),
        'beta': (0.0165, 0.0022),
        'tops': (0.0064, 0.0005),
        'tobs': (0.0082, 0.0007),
        'hops': (0.0184, 0.0022),
        'hobs': (0.0127, 0.0016),
    },
    'credit': {
        'identity': (0.0339, 0.0017),
        'ops': (0.0262, 0.0009),
        'beta': (0.0167, 0.0011),
        'tops': (0.0041, 0.0007),
        'tobs': (0.0048, 0.0006),
        'hops': (0.0207, 0.0019),
        'hobs': (0.0204, 0.0018),
    },
}
"""Of the paper: mean and standard error over several forests, each on an order of its own."""


Runs = dict[Key, list[float]]


def scores(q: list[float], y: list[int]) -> tuple[float, float, float]:
    """Return accuracy, log-loss and Brier score."""
    return accuracy(q, y), log_loss(q, y), brier(q, y)


def text(values: tuple[float, float, float]) -> str:
    """Return scores to four digits."""
    return '/'.join(map(digits, values))


def grid(title: str, about: str, columns: dict[str, dict[str, str]]) -> Table:
    """Return a table of a row for each method; the columns by what is above them."""
    methods = next(iter(columns.values()), {})
    rows = [[method, *(column[method] for column in columns.values())] for method in methods]
    return Table(title, about, ['method', *columns], rows)


def comparison(streams: list[Samples], runs: Runs, whole: bool) -> Table:
    """Return each reference value beside what was measured."""
    table = Table(
        'Reference values',
        'accuracy/log-loss/Brier; p > 0.5 counts as positive, and p is clipped to [0.001, 0.999] '
        'for the log-loss alone',
        ['stream', 'method', 'measured', 'reference', 'to four digits'],
    )
    reference = json.loads(REFERENCE.read_text(encoding='utf-8'))
    cells = sum(method not in RANDOM for values in reference.values() for method in values)
    for samples in streams:
        for method, values in reference.get(samples.name, {}).items():
            if (samples.name, method, 0) in runs and method not in RANDOM:
                measured = text(scores(runs[samples.name, method, 0], samples.y))
                word = ('agrees' if measured == text(values) else 'DIFFERS') if whole else '-'
                table.rows.append([samples.name, method, measured, text(values), word])
    agreeing = sum(row[-1] == 'agrees' for row in table.rows)
    table.notes.append(
        f'{agreeing} of {cells} cells agree to four digits; {cells - len(table.rows)} were not run'
        if whole
        else 'The reference values are of whole streams.'
    )
    return table


def all_scores(streams: list[Samples], methods: list[str], runs: Runs) -> Table:
    """Return accuracy, log-loss and Brier score of every method."""
    columns = {s.name: {m: text(scores(runs[s.name, m, 0], s.y)) for m in methods} for s in streams}
    return grid('All methods, labels at once', 'accuracy/log-loss/Brier', columns)


def log_losses(streams: list[Samples], methods: list[str], runs: Runs, delay: int) -> Table:
    """Return the log-loss of every method at a delay, and where the mixture misses the best."""
    losses = {s.name: {m: log_loss(runs[s.name, m, delay], s.y) for m in methods} for s in streams}
    table = grid(
        f'Log-loss, labels {delay} samples late' if delay else 'Log-loss, labels at once',
        'the best of each stream is in bold',
        {name: marked(of_stream) for name, of_stream in losses.items()},
    )
    table.notes = [note for s in streams for note in misses(s, losses[s.name], delay)]
    if 'mixture' in methods:
        close = len(streams) - len(table.notes)
        table.notes.append(f'mixture: within .001 of the best on {close} of {len(streams)} streams')
    return table


def misses(samples: Samples, losses: dict[str, float], delay: int) -> Iterator[str]:
    """Yield a sentence if the mixture is worse than the best of the other methods."""
    if 'mixture' not in losses or len(losses) == 1:
        return
    (above, best), allowed = excess(losses), allowance(delay, len(samples))
    if above > MARGIN:
        verdict = 'within' if above <= allowed else 'beyond'
        yield (
            f'mixture on {samples.name}: {digits(above)} above {best}, {verdict} '
            f'max(.001, (1+D) ln K/n) = {digits(allowed)}'
        )


def calibration_errors(forests: list[Samples], methods: list[str], runs: Runs) -> Table:
    """Return the paper's calibration error on the forests."""
    columns = {}
    for name, y in ((samples.name, samples.y[FIRST:]) for samples in forests):
        errors = {m: ece(runs[name, m, 0][FIRST:], y, 10, closed='right') for m in methods}
        published = {m: CALIBRATION_ERRORS[name].get(m, ()) for m in methods}
        columns[f'{name} measured'] = {m: digits(error) for m, error in errors.items()}
        columns[f'{name} published'] = {m: ' ± '.join(map(digits, v)) for m, v in published.items()}
    return grid(
        'Calibration error of the paper',
        f'10 right-closed bins, labels at once, without the first {FIRST} samples; measured on '
        'one forest, published as mean ± standard error over several, each on an order of its own',
        columns,
    )


def read_arguments(command: list[str] | None) -> argparse.Namespace:
    """Read the command line, or the one given."""
    parser = argparse.ArgumentParser(description=__doc__)
    origins = '; '.join(f'{name} is {origin}' for name, (_, origin) in FILES.items())
    parser.add_argument('--data', type=Path, help=f'a folder of the files: {origins}')
    add_options(parser, NAMES)
    arguments = parser.parse_args(command)
    if arguments.data is not None and not arguments.data.is_dir():
        parser.error(f'there is no folder {arguments.data}')
    return arguments


def jobs_of(arguments: argparse.Namespace) -> Iterator[Job]:
    """Yield what is to be run; say of the streams that are not here what they are."""
    delays = sorted({0, *arguments.delays})
    for name in arguments.streams:
        path = None
        if name in FILES:
            path = find(name, arguments.data)
            if path is None:
                print(f'{name} is left out for want of a file in --data: {FILES[name][1]}')
                continue
        yield Job(partial(load, name, path, arguments.samples), arguments.methods, delays)


def make_tables(
    arguments: argparse.Namespace, streams: list[Samples], runs: Runs
) -> Iterator[Table]:
    """Yield the tables."""
    yield comparison(streams, runs, arguments.samples is None)
    yield all_scores(streams, arguments.methods, runs)
    for delay in arguments.delays:
        yield log_losses(streams, arguments.methods, runs, delay)
    forests = [s for s in streams if s.name in CALIBRATION_ERRORS and len(s) > FIRST]
    if forests:
        yield calibration_errors(forests, arguments.methods, runs)


def main(command: list[str] | None = None) -> int:
    """Run the benchmark; 1 if a value is not that of the reference."""
    arguments = read_arguments(command)
    streams, runs = run_all(list(jobs_of(arguments)), arguments.jobs)
    tables = list(make_tables(arguments, streams, runs))
    print(*tables, sep='\n\n')
    return int(any('DIFFERS' in row for table in tables for row in table.rows))


if __name__ == '__main__':
    sys.exit(main())
