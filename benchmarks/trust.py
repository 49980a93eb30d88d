#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon the alarm finds that probabilities are honest no more, and how often for nothing.

    python benchmarks/trust.py [--runs 30]

A forecast is honest for N labels, then its logit is off by -.5, or by a slope of .6. Beside the
alarm there are a rolling ECE above .1 over 1 000 labels, from 300 on, and a plain product of the
bets on the mean, at 20. Then forecasts of a state that persists, honest for all that can be known,
with labels 50 late.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from math import exp, log
from statistics import median

from tables import Table
from tqdm import tqdm

from calib_node.core.metrics import RollingReliability
from calib_node.core.trust.alarm import Alarm

LATEST = 5000
"""A change that is not found within so many labels is not found."""
EVERY = 100_000.0
LATE = 50
CHANGES = {
    'bias -.5, N = 0': (0, -0.5, 1.0),
    'bias -.5, N = 1 000': (1000, -0.5, 1.0),
    'bias -.5, N = 20 000': (20_000, -0.5, 1.0),
    'slope .6, N = 20 000': (20_000, 0.0, 0.6),
}
Goes = Callable[[float, int], bool]
"""Takes in a forecast and its label; tells whether the change is found."""


def of_alarm() -> Goes:
    """Return the alarm for labels at once."""
    alarm = Alarm(EVERY, late=False)

    def goes(q: float, y: int) -> bool:
        alarm.add(q, y)
        return alarm.raised is not None

    return goes


def of_ece() -> Goes:
    """Return a threshold on the rolling ECE."""
    rolling = RollingReliability()

    def goes(q: float, y: int) -> bool:
        rolling.add(q, y)
        return rolling.count >= 300 and rolling.ece() > 0.1

    return goes


def of_product() -> Goes:
    """Return a product of bets on the mean, which never starts anew."""
    capital = [1.0] * 6
    shifts = (-0.25, 0.25, -0.5, 0.5, -1.0, 1.0)

    def goes(q: float, y: int) -> bool:
        for index, shift in enumerate(shifts):
            other = 1.0 / (1.0 + exp(-log(q / (1.0 - q)) - shift))
            capital[index] *= other / q if y else (1.0 - other) / (1.0 - q)
        return sum(capital) / len(capital) >= 20.0

    return goes


DETECTORS = {'alarm': of_alarm, 'rolling ECE > .1': of_ece, 'plain product': of_product}


def samples(seed: int, count: int, bias: float, slope: float) -> Iterator[tuple[float, int]]:
    """Yield forecasts with labels of a truth that differs from them."""
    chance = random.Random(seed)
    for _ in range(count):
        q = min(max(chance.random(), 0.001), 0.999)
        yield q, int(chance.random() < 1.0 / (1.0 + exp(-slope * log(q / (1.0 - q)) - bias)))


def found_after(make: Callable[[], Goes], before: int, bias: float, slope: float, seed: int) -> int:
    """Return after how many labels of a change it is found; 0: not within the time there is."""
    goes = make()
    for q, y in samples(seed, before, 0.0, 1.0):
        if goes(q, y):
            # For nothing; it goes on as one that was acknowledged.
            goes = make()
    for number, (q, y) in enumerate(samples(10_000 + seed, LATEST, bias, slope), 1):
        if goes(q, y):
            return number
    return 0


def persistent(seed: int, count: int, late: bool) -> bool:
    """Return whether an alarm goes on what is honest for all that can be known."""
    chance, alarm = random.Random(seed), Alarm(EVERY, late)
    truth, truths = 0, []
    stays = (1.0 + (1.0 - 0.02) ** LATE) / 2.0
    known = [0.5] * LATE
    for number in range(count):
        truth = 1 - truth if chance.random() < 0.01 else truth
        truths.append(truth)
        if number >= LATE:
            known.append(stays if truths[number - LATE] else 1.0 - stays)
            alarm.add(known[number - LATE], truths[number - LATE], LATE)
            if alarm.raised is not None:
                return True
    return False


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--runs', type=int, default=30)
    runs = parser.parse_args().runs
    table = Table(
        'Labels until a change is found',
        f'Median over those of {runs} runs that found it within {LATEST} labels, and their number.',
        ['', *CHANGES],
    )
    bar = tqdm(total=len(DETECTORS) * len(CHANGES) * runs, leave=False)
    for name, make in DETECTORS.items():
        cells = []
        for before, bias, slope in CHANGES.values():
            after = []
            for seed in range(runs):
                after.append(found_after(make, before, bias, slope, seed))
                bar.update()
            found = [number for number in after if number]
            cells.append(f'{median(found):.0f} ({len(found)})' if found else 'none')
        table.rows.append([name, *cells])
    bar.close()
    false = sum(
        not all(not goes(q, y) for q, y in samples(seed, 20_000, 0.0, 1.0))
        for seed in range(2 * runs)
        for goes in [of_alarm()]
    )
    table.notes.append(f'false alarms in 20 000 honest labels: {false} of {2 * runs} runs')
    for late in (True, False):
        went = sum(persistent(seed, 5000, late) for seed in range(40))
        which = 'late' if late else 'independent'
        table.notes.append(
            f'truth that persists, labels {LATE} late, alarm.labels {which}: {went} of 40 runs'
        )
    print(table)


if __name__ == '__main__':
    main()
