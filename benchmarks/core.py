#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forecasts and updates, samples a second: every method against dense-armor's OPS.

All run in turn in one process on the same samples, processor time, and each ratio is the median of
the rounds'. The peer wraps a base classifier that only looks its probability up. Ours includes the
checks of its input and the ticket. The last column is the speed in the last fifth of the samples
over that in the first one: the cost of a sample does not grow with the stream. After it come the
rolling figures, and one-vs-rest at 1 000 classes.

Needs dense-armor: pip install -r requirements/benchmark.txt
"""

from __future__ import annotations

import argparse
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from calib_node.core.calibrators import CALIBRATORS, create, create_multiclass
from calib_node.core.evaluate import progressive
from calib_node.core.metrics import RollingReliability

Samples = list[tuple[float, int]]

GOALS = {'ops': 10.0, 'beta': 10.0, 'tops': 5.0, 'hops': 5.0, 'mixture': 0.25}
"""At least so many times as fast as the peer."""
CLASSES = 1000


class Lookup:
    """A base classifier that costs next to nothing."""

    def predict_proba_one(self, x: dict[str, float]) -> dict[bool, float]:
        """Return the probability that the sample carries."""
        p = x['p']
        return {False: 1.0 - p, True: p}

    def learn_one(self, x: dict[str, float], y: bool) -> Lookup:
        """Learn nothing."""
        return self


def exhaust(iterator: Iterator[object]) -> None:
    """Run an iterator to its end."""
    deque(iterator, maxlen=0)


def method(name: str) -> Callable[[Samples], None]:
    """Return a run of one of our methods that goes on where it was left."""
    calibrator = create(name)
    return lambda samples: exhaust(progressive(calibrator, samples))


def peer() -> Callable[[Samples], None]:
    """Return a run of the peer."""
    from dense_armor.utility.learn.calibration import OnlinePlattScaling

    model = OnlinePlattScaling(Lookup())

    def run(samples: Samples) -> None:
        for p, y in samples:
            x = {'p': p}
            model.predict_proba_one(x)
            model.learn_one(x, bool(y))

    return run


def rolling() -> Callable[[Samples], None]:
    """Return a run of the rolling figures."""
    window = RollingReliability()

    def run(samples: Samples) -> None:
        for p, y in samples:
            window.add(p, y)

    return run


def rates(run: Callable[[Samples], None], samples: Samples) -> list[float]:
    """Return samples a second of processor time, fifth by fifth."""
    fifth = len(samples) // 5
    speeds = []
    for start in range(0, 5 * fifth, fifth):
        part = samples[start : start + fifth]
        before = time.process_time()
        run(part)
        speeds.append(fifth / (time.process_time() - before))
    return speeds


def one_vs_rest(method: str, rounds: int) -> float:
    """Return the milliseconds that a sample of 1 000 classes takes."""
    generator = np.random.default_rng(0)
    calibrator = create_multiclass(method, CLASSES)
    samples = generator.dirichlet(np.full(CLASSES, 0.05), 200)
    labels = [int(label) for label in generator.integers(CLASSES, size=200)]
    times = []
    for _ in range(rounds):
        before = time.process_time()
        exhaust(progressive(calibrator, zip(samples, labels, strict=True)))
        times.append((time.process_time() - before) / len(labels))
    return 1000.0 * median(times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--samples', type=int, default=20_000)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--methods', nargs='+', choices=CALIBRATORS, default=list(CALIBRATORS))
    arguments = parser.parse_args()
    try:
        import dense_armor as _
    except ImportError as error:
        raise SystemExit(
            'the peer is missing: pip install -r requirements/benchmark.txt'
        ) from error
    chance = random.Random(0).random
    numbers = (chance() for _ in range(arguments.samples))
    samples = [(p, int(chance() < 0.2 + 0.6 * p)) for p in numbers]
    runs = {'dense-armor': peer, 'rolling figures': rolling}
    runs |= {name: lambda name=name: method(name) for name in arguments.methods}
    speeds: dict[str, list[list[float]]] = {name: [] for name in runs}
    for _ in range(arguments.rounds):
        for name, make in runs.items():
            speeds[name].append(rates(make(), samples))

    print(f'{arguments.samples} samples, median of {arguments.rounds} rounds')
    print(f'{"":22}{"samples/s":>12}{"times peer":>12}{"goal":>8}{"last/first":>12}')
    peers = [median(fifths) for fifths in speeds['dense-armor']]
    for name, rounds in speeds.items():
        own = [median(fifths) for fifths in rounds]
        ratio = median(ours / other for ours, other in zip(own, peers, strict=True))
        growth = median(fifths[-1] / fifths[0] for fifths in rounds)
        goal = f'{GOALS[name]:g}' if name in GOALS else ''
        print(f'{name:22}{median(own):12,.0f}{ratio:12.2f}{goal:>8}{growth:12.2f}')
    for name in ('ops', 'temperature'):
        took = one_vs_rest(name, arguments.rounds)
        print(f'{name} of {CLASSES} classes: {took:.3f} ms a sample (goal 1)')


if __name__ == '__main__':
    main()
