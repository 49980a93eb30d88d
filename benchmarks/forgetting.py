#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What forgetting gains Online Platt Scaling after a sudden change, and what it costs without one.

The logit of p is normal with standard deviation 2, and y is 1 with probability p. After N samples
that probability drops by 2 on the logit; counted are the samples until the intercept of the map
has come half of the way, to -1. The log-loss is that of a stream on which nothing changes.
"""

from __future__ import annotations

import argparse
from statistics import median_low

import numpy as np
from numpy.typing import NDArray
from tables import Table, digits

from calib_node.core.calibrators import OnlinePlattScaling
from calib_node.core.evaluate import forecasts, progressive
from calib_node.core.metrics import log_loss
from calib_node.core.numerics.sigmoid import sigmoids
from calib_node.tools.progress import Progress

Floats = NDArray[np.float64]

SETTINGS = [(1.0, 100.0), (0.999, 100.0), (0.99, 100.0), (0.95, 100.0), (0.99, 10.0), (0.95, 10.0)]
"""Forgetting and rho."""
SPREAD, BIAS = 2.0, -2.0
MOST = 30_000
"""Samples within which it must have come half of the way."""
CALIBRATED = 20_000
"""Samples that the log-loss is of."""


def draw(count: int, seed: int) -> tuple[Floats, Floats]:
    """Return logits, and what a label's probability must be above; drawn in turn."""
    generator = np.random.default_rng(seed)
    pairs = [(generator.normal(0.0, SPREAD), generator.random()) for _ in range(count)]
    logits, thresholds = np.array(pairs).T
    return logits, thresholds


def samples_to_half(
    calibrator: OnlinePlattScaling, logits: Floats, thresholds: Floats, after: int
) -> int:
    """Return how many samples of the change it takes, `MOST` if more."""
    bias = np.where(np.arange(len(logits)) < after, 0.0, BIAS)
    labels = (thresholds < sigmoids(logits + bias)).astype(int).tolist()
    samples = zip(sigmoids(logits).tolist(), labels, strict=True)
    for number, _ in enumerate(progressive(calibrator, samples), 1 - after):
        if number == MOST or (number > 0 and calibrator.b <= BIAS / 2):
            return number
    return MOST


def calibrated(count: int, seed: int) -> tuple[list[float], list[int]]:
    """Return probabilities and labels that they are right about."""
    generator = np.random.default_rng(seed)
    p = sigmoids(generator.normal(0.0, SPREAD, count))
    return p.tolist(), (generator.random(count) < p).astype(int).tolist()


def price(calibrator: OnlinePlattScaling, p: list[float], y: list[int]) -> float:
    """Return the log-loss."""
    return log_loss(forecasts(calibrator, zip(p, y, strict=True)), y)


def main(command: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seeds', type=int, default=11, help='streams that change; 11')
    parser.add_argument(
        '--after', type=int, nargs='+', default=[10**k for k in range(2, 6)], help='N, several'
    )
    arguments = parser.parse_args(command)
    p, y = calibrated(CALIBRATED, 0)
    table = Table(
        'Forgetting',
        'samples to half of a sudden bias, after N samples without: with seed 0, and the least, '
        f'median and most of {arguments.seeds} seeds',
        ['forgetting', 'rho', 'log-loss', *(f'N = {after}' for after in arguments.after)],
        notes=[
            f'log-loss: of {CALIBRATED} samples without a change; {digits(log_loss(p, y))} is '
            'that of p, which is right'
        ],
    )
    streams = [draw(max(arguments.after) + MOST, seed) for seed in range(arguments.seeds)]
    with Progress(len(SETTINGS) * len(arguments.after), 'cells') as progress:
        for forgetting, rho in SETTINGS:
            parameters = {'forgetting': forgetting, 'rho': rho}
            row = [f'{forgetting:g}', f'{rho:g}']
            row.append(digits(price(OnlinePlattScaling(**parameters), p, y)))
            for after in arguments.after:
                counts = [
                    samples_to_half(OnlinePlattScaling(**parameters), *stream, after)
                    for stream in streams
                ]
                row.append(f'{counts[0]}; {min(counts)}, {median_low(counts)}, {max(counts)}')
                progress.advance(f'forgetting {forgetting:g}')
            table.rows.append(row)
    print(table)


if __name__ == '__main__':
    main()
