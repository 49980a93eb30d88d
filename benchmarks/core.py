#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predict and update, samples a second, against dense-armor's Online Platt Scaling.

Both run in turn in one process on the same samples. The peer wraps a base classifier that only
looks its probability up. Ours includes the checks of its input and the ticket.

Needs dense-armor: pip install dense-armor==1.2.0
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

from calib_node.core.calibrators import create
from calib_node.core.metrics import RollingReliability

Samples = list[tuple[float, int]]


def ops(samples: Samples) -> float:
    """Return the last slope of our calibrator."""
    calibrator = create('ops')
    for p, y in samples:
        _, ticket = calibrator.issue(p)
        calibrator.update(p, y, ticket)
    return float(calibrator.state()['a'])


def rolling(samples: Samples) -> float:
    """Return the last ECE of our rolling window."""
    window = RollingReliability()
    for p, y in samples:
        window.add(p, y)
    return window.ece()


class Lookup:
    """A base classifier that costs next to nothing."""

    def predict_proba_one(self, x: dict[str, float]) -> dict[bool, float]:
        """Return the probability that the sample carries."""
        p = x['p']
        return {False: 1.0 - p, True: p}

    def learn_one(self, x: dict[str, float], y: bool) -> Lookup:
        """Learn nothing."""
        return self


def dense_armor(samples: Samples) -> float:
    """Return the last slope of the peer."""
    from dense_armor.utility.learn.calibration import OnlinePlattScaling

    peer = OnlinePlattScaling(Lookup())
    for p, y in samples:
        x = {'p': p}
        peer.predict_proba_one(x)
        peer.learn_one(x, bool(y))
    return float(peer._theta[0])


def rate(run: Callable[[Samples], float], samples: Samples) -> tuple[float, float]:
    """Return samples a second, and the result."""
    start = time.perf_counter()
    result = run(samples)
    return len(samples) / (time.perf_counter() - start), result


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--samples', type=int, default=50_000)
    parser.add_argument('--rounds', type=int, default=7)
    arguments = parser.parse_args()
    try:
        import dense_armor as _  # noqa: F401
    except ImportError as error:
        raise SystemExit('the peer is missing: pip install dense-armor==1.2.0') from error
    generator = random.Random(0)
    samples = [(generator.random(), generator.randrange(2)) for _ in range(arguments.samples)]
    runs = (ops, rolling, dense_armor)
    rates: dict[str, list[float]] = {run.__name__: [] for run in runs}
    results = {}
    for _round in range(arguments.rounds):
        for run in runs:
            speed, results[run.__name__] = rate(run, samples)
            rates[run.__name__].append(speed)
    difference = abs(results['ops'] - results['dense_armor'])
    ratios = [ours / peer for ours, peer in zip(rates['ops'], rates['dense_armor'], strict=True)]
    print(f'{arguments.samples} samples, median of {arguments.rounds} rounds')
    for name, speeds in rates.items():
        print(f'{name:12} {statistics.median(speeds):12,.0f} samples/s')
    print(
        f'ops is {statistics.median(ratios):.1f} times dense_armor '
        f'(each round: {", ".join(f"{ratio:.1f}" for ratio in ratios)})'
    )
    print(f'the slopes they end with differ by {difference:.1e}')


if __name__ == '__main__':
    main()
