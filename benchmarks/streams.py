#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every calibration method on streams of real and generated data, beside published values.

Seven streams: a Hoeffding tree that learns 500 samples and no more, over the first 5 000 rows
(Phishing 1 250) of data that river ships or generates. Elec2, the two forests and the CIFAR-10
outputs are files of their own; one that is missing is left out with a sentence.

Needs river: pip install -r requirements/benchmark.txt
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import river as _  # noqa: F401
except ImportError as error:
    raise SystemExit('river is missing: pip install -r requirements/benchmark.txt') from error

from streams_data import NAMES, ORIGINS, Samples, find, load
from streams_published import CALIBRATION_ERRORS, PARTS, SCORES, TEMPERATURES
from streams_runs import (
    FIRST,
    MARGIN,
    Forecasts,
    allowance,
    calibration_error,
    digits,
    part_scores,
    run_all,
    scores,
    temperature,
)
from streams_tables import BEST, Table, best

from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.metrics import log_loss
from calib_node.tools.progress import Progress

FORESTS = ('bank', 'credit')


def comparison(streams: list[Samples], runs: Forecasts, whole: bool) -> Table:
    """Return each published cell beside what was measured."""
    table = Table(
        'Published values',
        'accuracy/log-loss/Brier; p > 0.5 counts as positive, and p is clipped to [0.001, 0.999] '
        'for the log-loss alone',
        ['stream', 'method', 'measured', 'published', 'to four digits'],
    )
    cells = sum(len(cells) for cells in SCORES.values())
    agreeing = 0
    for samples in streams:
        for method, published in SCORES.get(samples.name, {}).items():
            if (samples.name, method, 0) in runs:
                measured = scores(runs[samples.name, method, 0], samples.y)
                agreeing += measured == published
                word = ('agrees' if measured == published else 'DIFFERS') if whole else '-'
                table.rows.append([samples.name, method, measured, published, word])
    table.notes.append(
        f'{agreeing} of {cells} cells agree to four digits; {cells - len(table.rows)} were not run'
        if whole
        else 'The published values are of whole streams.'
    )
    return table


def parts(streams: list[Samples]) -> Iterator[Table]:
    """Yield the parts of the step-size ensemble on Elec2."""
    for samples in streams:
        if samples.name == 'elec2':
            table = Table(
                'Parts of the step-size ensemble on Elec2',
                'accuracy/log-loss/Brier; the clipped probability for the first 500 labels',
                ['part', 'measured', 'published', 'to four digits'],
            )
            measured = part_scores(samples)
            for part, published in PARTS.items():
                word = 'agrees' if measured[part] == published else 'DIFFERS'
                table.rows.append([part, measured[part], published, word])
            yield table


def all_scores(streams: list[Samples], methods: list[str], runs: Forecasts) -> Table:
    """Return accuracy, log-loss and Brier score of every method."""
    table = Table(
        'All methods, labels at once',
        'accuracy/log-loss/Brier',
        ['method', *(samples.name for samples in streams)],
    )
    for method in methods:
        cells = (scores(runs[samples.name, method, 0], samples.y) for samples in streams)
        table.rows.append([method, *cells])
    return table


def log_losses(streams: list[Samples], methods: list[str], runs: Forecasts, delay: int) -> Table:
    """Return the log-loss of every method at a delay, and where the mixture misses the best."""
    table = Table(
        f'Log-loss, labels {delay} samples late' if delay else 'Log-loss, labels at once',
        'the best of each stream is marked',
        ['method', *(samples.name for samples in streams)],
    )
    columns = []
    for samples in streams:
        losses = {m: log_loss(runs[samples.name, m, delay], samples.y) for m in methods}
        table.notes.extend(misses(samples, losses, delay))
        marked = best(losses)
        columns.append([digits(losses[m]) + (BEST if m in marked else '') for m in methods])
    if 'mixture' in methods:
        close = len(streams) - len(table.notes)
        table.notes.append(f'mixture: within .001 of the best on {close} of {len(streams)} streams')
    table.rows = [[method, *cells] for method, *cells in zip(methods, *columns, strict=True)]
    return table


def misses(samples: Samples, losses: dict[str, float], delay: int) -> Iterator[str]:
    """Yield a sentence if the mixture is worse than the best of the other methods."""
    others = {method: loss for method, loss in losses.items() if method != 'mixture'}
    if 'mixture' not in losses or not others:
        return
    name = min(others, key=lambda method: others[method])
    excess, allowed = losses['mixture'] - others[name], allowance(delay, len(samples))
    if excess > MARGIN:
        verdict = 'within' if excess <= allowed else 'beyond'
        yield (
            f'mixture on {samples.name}: {digits(excess)} above {name}, {verdict} '
            f'max(.001, (1+D) ln K/n) = {digits(allowed)}'
        )


def calibration_errors(streams: list[Samples], methods: list[str], runs: Forecasts) -> Table:
    """Return the paper's calibration error on the forests."""
    forests = [samples for samples in streams if samples.name in FORESTS]
    table = Table(
        'Calibration error of the paper',
        f'10 right-closed bins, labels at once, without the first {FIRST} samples; measured on '
        'one forest, published as mean ± standard error over several, each on an order of its own',
        ['method', *(f'{s.name} {what}' for s in forests for what in ('measured', 'published'))],
    )
    for method in methods:
        row = [method]
        for samples in forests:
            value = calibration_error(runs[samples.name, method, 0], samples.y)
            mean, error = CALIBRATION_ERRORS[samples.name].get(method, (None, None))
            published = '-' if mean is None else f'{digits(mean)} ± {digits(error)}'
            row += [digits(value), published]
        table.rows.append(row)
    return table


def temperatures(paths: list[Path]) -> Table:
    """Return the temperatures that are fitted to outputs of networks."""
    table = Table(
        'Temperature on CIFAR-10 outputs',
        'temperature, ECE before and after (15 bins); fitted on the first half, tested on the '
        'second',
        ['outputs', 'measured', 'published', 'to four digits'],
    )
    for path in paths:
        measured, published = temperature(path), TEMPERATURES.get(path.stem)
        word = '-' if published is None else 'agrees' if measured == published else 'DIFFERS'
        table.rows.append([path.stem, measured, published or '-', word])
    return table


def names(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Return a reader of comma-separated names."""

    def read(text: str) -> list[str]:
        given = text.split(',')
        for name in given:
            if name not in known:
                raise argparse.ArgumentTypeError(f'{name!r} is none of {", ".join(known)}')
        return [name for name in known if name in given]

    return read


def delays(text: str) -> list[int]:
    """Read comma-separated delays."""
    given = sorted({int(number) for number in text.split(',')})
    if given[0] < 0:
        raise argparse.ArgumentTypeError('a delay is a number of samples from 0')
    return given


def read_arguments(command: list[str] | None) -> argparse.Namespace:
    """Read the command line, or the one given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--data', type=Path, help='a folder to look all files up in by their names')
    for name in ('elec2', *FORESTS):
        parser.add_argument(f'--{name}', type=Path, help=ORIGINS[name])
    parser.add_argument('--cifar', type=Path, nargs='+', default=[], help=ORIGINS['cifar'])
    parser.add_argument(
        '--streams', type=names(NAMES), default=list(NAMES), help=f'among {",".join(NAMES)}'
    )
    methods = tuple(CALIBRATORS)
    parser.add_argument(
        '--methods', type=names(methods), default=list(methods), help=f'among {",".join(methods)}'
    )
    parser.add_argument('--delays', type=delays, default=[0, 20, 50, 300], help='0,20,50,300')
    parser.add_argument('--samples', type=int, help='use only the first samples of each stream')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1, help='processes')
    parser.add_argument('--markdown', type=Path, help='write the tables to this file as well')
    arguments = parser.parse_args(command)
    if arguments.data is not None:
        if not arguments.data.is_dir():
            parser.error(f'there is no folder {arguments.data}')
        for what, path in find(arguments.data):
            if what == 'cifar':
                arguments.cifar.append(path)
            elif getattr(arguments, what) is None:
                setattr(arguments, what, path)
    return arguments


def read_streams(arguments: argparse.Namespace) -> list[Samples]:
    """Return the streams that are asked for and here; say of the others what they are."""
    streams = []
    for name in arguments.streams:
        path = getattr(arguments, name, None)
        if name in ORIGINS and (path is None or not path.is_file()):
            print(f'{name} is left out for want of a file (--{name}, --data): {ORIGINS[name]}')
            continue
        streams.append(load(name, path, arguments.samples))
        if path is not None:
            print(f'{name} is {path.name}: {ORIGINS[name]}')
    return streams


def make_tables(
    arguments: argparse.Namespace, streams: list[Samples], runs: Forecasts
) -> Iterator[Table]:
    """Yield the tables."""
    methods, whole = arguments.methods, arguments.samples is None
    yield comparison(streams, runs, whole)
    if whole and 'ensemble' in methods:
        yield from parts(streams)
    yield all_scores(streams, methods, runs)
    for delay in arguments.delays:
        yield log_losses(streams, methods, runs, delay)
    if any(samples.name in FORESTS and len(samples) > FIRST for samples in streams):
        yield calibration_errors(streams, methods, runs)
    if arguments.cifar:
        yield temperatures(arguments.cifar)


def main(command: list[str] | None = None) -> int:
    """Run the benchmark; 1 if a value is not the published one."""
    arguments = read_arguments(command)
    streams = read_streams(arguments)
    if not arguments.cifar:
        print(f'the networks are left out for want of a file (--cifar, --data): {ORIGINS["cifar"]}')
    to_run = sorted({0, *arguments.delays})
    runs: Forecasts = {}
    total = len(streams) * len(arguments.methods) * len(to_run)
    with Progress(total, 'runs') as progress:
        for key, output in run_all(streams, arguments.methods, to_run, arguments.jobs):
            runs[key] = output
            progress.advance(f'{key[1]} on {key[0]}')
    tables = []
    for table in make_tables(arguments, streams, runs):
        tables.append(table)
        print(f'\n{table.text()}')
    if arguments.markdown is not None:
        text = '\n\n'.join(table.markdown() for table in tables)
        arguments.markdown.write_text(f'{text}\n', encoding='utf-8')
    return int(any('DIFFERS' in row for table in tables for row in table.rows))


if __name__ == '__main__':
    sys.exit(main())
