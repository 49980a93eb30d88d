#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts: one map for all, a map for each, offsets and the chain, beside reference values.

Two networks on CIFAR-10, the context being the class they predict and the probability that of this
class: netcal_lenet-5-cifar-10.npz and netcal_wideresnet-16-4-cifar-10.npz of the project
EFS-OpenSource/calibration-framework, looked up in --data. And streams made here, of 60 contexts
whose logits are off by a spread of .8, or not at all. Then what a label costs with many contexts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tables import Table, digits

from calib_node.core.calibrators import create
from calib_node.core.calibrators.contexts.chain import Chain
from calib_node.core.calibrators.platt import OnlinePlattScaling
from calib_node.core.metrics import log_loss

SAMPLES = 8000
PARTS = {'500 to 2 000': slice(500, 2000), '2 000 on': slice(2000, None)}
FILES = {
    'LeNet': 'netcal_lenet-5-cifar-10.npz',
    'WideResNet': 'netcal_wideresnet-16-4-cifar-10.npz',
}
SPREADS = {'made, 60 contexts': 0.8, 'no effect, 60 contexts': 0.0}

REFERENCE = {
    'LeNet': {
        'one map': '.5870 .0534 | .5865 .0271',
        'a map each': '.5879 .0218 | .5872 .0061',
        'offsets': '.5834 .0217 | .5868 .0059',
        'chain': '.5867 .0306 | .5852 .0118',
    },
    'WideResNet': {
        'one map': '.2162 .0345 | .2148 .0325',
        'a map each': '.2175 .0175 | .2069 .0087',
        'offsets': '.2083 .0195 | .2037 .0055',
        'chain': '.2127 .0206 | .2051 .0115',
    },
}
"""Computed independently."""


@dataclass(frozen=True)
class Contexts:
    """A stream with a context for each sample."""

    name: str
    p: list[float]
    y: list[int]
    context: NDArray[np.int64]


def read(name: str, path: Path) -> Contexts:
    """Return the likeliest class of a network, whether it was right, and which class it was."""
    with np.load(path, allow_pickle=False) as file:
        rows, truth = file['predictions'][:SAMPLES], file['ground_truth'][:SAMPLES]
    top = rows.argmax(axis=1)
    p = rows.max(axis=1).astype(float).clip(0.0, 1.0)
    return Contexts(name, p.tolist(), (top == truth).astype(int).tolist(), top)


def make(name: str, spread: float, contexts: int = 60) -> Contexts:
    """Return a stream that is too sure by half, its logits off by context."""
    generator = np.random.default_rng(0)
    context = generator.integers(contexts, size=SAMPLES)
    offset = generator.normal(0.0, spread, contexts)
    z = generator.normal(0.0, 1.5, SAMPLES)
    y = generator.random(SAMPLES) < 1.0 / (1.0 + np.exp(-z - offset[context]))
    p = 1.0 / (1.0 + np.exp(-1.5 * z))
    return Contexts(name, p.tolist(), y.astype(int).tolist(), context)


def one_map(samples: Contexts) -> Iterator[float]:
    """Yield the forecasts of one calibrator for all contexts."""
    calibrator = create('ops')
    for p, y in zip(samples.p, samples.y):
        q, ticket = calibrator.issue(p)
        calibrator.update(p, y, ticket)
        yield q


def each(samples: Contexts) -> Iterator[float]:
    """Yield the forecasts of a calibrator for each context."""
    calibrators = [create('ops') for _ in range(int(samples.context.max()) + 1)]
    for p, y, context in zip(samples.p, samples.y, samples.context.tolist()):
        q, ticket = calibrators[context].issue(p)
        calibrators[context].update(p, y, ticket)
        yield q


def offsets(samples: Contexts) -> Iterator[float]:
    """Yield the forecasts with an offset for each context."""
    return _in_contexts(create('ops', contexts=('context',)), samples)


def chain(samples: Contexts) -> Iterator[float]:
    """Yield the forecasts of a chain."""
    return _in_contexts(Chain(OnlinePlattScaling(), ('context',)), samples)


def _in_contexts(calibrator, samples: Contexts) -> Iterator[float]:
    for p, y, context in zip(samples.p, samples.y, samples.context.tolist()):
        q, ticket = calibrator.issue(p, (context,))
        calibrator.update(p, y, ticket)
        yield q


WAYS: dict[str, Callable[[Contexts], Iterator[float]]] = {
    'one map': one_map,
    'a map each': each,
    'offsets': offsets,
    'chain': chain,
}


def scores(samples: Contexts, forecasts: Iterator[float]) -> str:
    """Return log-loss and mean gap of a context in each part of the stream."""
    q, y, context = np.array(list(forecasts)), np.array(samples.y), samples.context
    texts = []
    for part in PARTS.values():
        gaps = [
            abs(q[part][context[part] == c].mean() - y[part][context[part] == c].mean())
            for c in np.unique(context[part])
        ]
        texts.append(f'{digits(log_loss(q[part], y[part]))} {digits(float(np.mean(gaps)))}')
    return ' | '.join(texts)


def table_of(streams: list[Contexts]) -> Table:
    """Return each way on each stream, beside the reference where there is one."""
    table = Table(
        'Contexts',
        'log-loss and mean |confidence - accuracy| of a context, samples ' + ' | '.join(PARTS),
        ['stream', 'way', 'measured', 'reference', 'to four digits'],
    )
    for samples in streams:
        for name, way in WAYS.items():
            measured = scores(samples, way(samples))
            expected = REFERENCE.get(samples.name, {}).get(name, '')
            verdict = ('agrees' if measured == expected else 'DIFFERS') if expected else '-'
            table.rows.append([samples.name, name, measured, expected, verdict])
    return table


def costs() -> Table:
    """Return the time of a forecast and its label, in microseconds."""
    table = Table(
        'Cost of a forecast and its label',
        'microseconds, best of 5 runs of 2 000; contexts of one variable, or of two with as many '
        'combinations',
        ['method', 'contexts', 'one variable', 'two variables'],
    )
    for method, parameters in (('ops', {}), ('ops', {'forgetting': 0.999}), ('tops', {})):
        name = method + ''.join(f', {k} {v}' for k, v in parameters.items())
        table.rows.append([name, 'none', f'{cost(method, parameters, 0, 1):.1f}', ''])
        for count in (1, 10, 50, 200):
            cells = [f'{cost(method, parameters, count, variables):.1f}' for variables in (1, 2)]
            table.rows.append([name, str(count), *cells])
    return table


def cost(method: str, parameters: dict, count: int, variables: int) -> float:
    """Return the microseconds of `issue` and `update`."""
    names = ('class', 'range')[:variables] if count else ()
    calibrator = create(method, contexts=names, **parameters)
    rows = max(count // 5, 1)
    contexts = [(i,) if variables == 1 else (i % rows, i // rows) for i in range(count)]
    generator = np.random.default_rng(0)
    p = generator.random(2000).tolist()
    y = generator.integers(2, size=2000).tolist()
    best = float('inf')
    for _ in range(5):
        start = time.perf_counter()
        for number, (x, label) in enumerate(zip(p, y)):
            if count:
                ticket = calibrator.issue(x, contexts[number % count])[1]
            else:
                ticket = calibrator.issue(x)[1]
            calibrator.update(x, label, ticket)
        best = min(best, time.perf_counter() - start)
    return best / len(p) * 1e6


def main(command: list[str] | None = None) -> int:
    """Run the benchmark; 1 if a value is not that of the reference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--data', type=Path, help='a folder of the files')
    folder = parser.parse_args(command).data
    streams = [make(name, spread) for name, spread in SPREADS.items()]
    for name, file in FILES.items():
        if folder is None or not (folder / file).is_file():
            print(f'{name} is left out for want of {file} in --data')
            continue
        streams.append(read(name, folder / file))
    table = table_of(streams)
    print(table, costs(), sep='\n\n')
    return int(any('DIFFERS' in row for row in table.rows))


if __name__ == '__main__':
    sys.exit(main())
