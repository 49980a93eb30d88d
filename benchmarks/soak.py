#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A long run of the pipeline, or with --dds of the node: memory, exactness, throughput.

Each prediction gets its label a hundred predictions later, and one label in fifty never comes. In
a hundred parts it is measured what a sample costs in processor time, what is resident, and how far
the figures of the window are from those computed anew from its samples.

The exit code is 1 where the resident memory grows by 5 MB or more after the first 100 000 samples,
a figure is off by more than 1e-9, or the last tenth is more than 5 % slower than the first.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, Protocol

from calib_node.core.calibrators import CALIBRATORS, create
from calib_node.core.matching import create_matcher
from calib_node.core.metrics import brier, ece, log_loss, reliability
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import NANOSECONDS, Label, Prediction
from calib_node.tools.progress import Progress

PARTS = 100
SETTLED = 100_000
"""Samples after which nothing has a reason to grow."""
INTERVAL = NANOSECONDS // 100
LABEL_DELAY = 100
LOST = 0.02
WINDOW = 1000
PAGE = os.sysconf('SC_PAGE_SIZE')

GROWTH = 5.0
ERROR = 1e-9
SLOWER = 0.05

Sample = tuple[float, float, int]
"""Raw, published, label."""


class Run(Protocol):
    """What is measured."""

    def part(self, first: int, number: int) -> None:
        """Run samples, the first of which has the number `first`, to their end."""

    def processor_seconds(self) -> float:
        """Return the processor time used so far."""

    def error(self) -> float:
        """Return how far the figures are from those of the samples in the window."""

    @property
    def process(self) -> int | str:
        """The process whose memory is looked at."""


def megabytes(process: int | str) -> float:
    """Return the resident memory of a process."""
    return int(Path(f'/proc/{process}/statm').read_text().split()[1]) * PAGE / 1e6


def farthest(figures: list[float], expected: list[float]) -> float:
    """Return the largest difference; where both are NaN there is none."""
    pairs = zip(figures, expected, strict=True)
    return max(abs(a - b) for a, b in pairs if not (a != a and b != b))


def diagram(p: list[float], y: list[int], bins: int) -> list[float]:
    """Return a reliability diagram, bin by bin, computed from all samples."""
    table = reliability(p, y, bins)
    return [float(x) for row in zip(table.count, table.mean, table.frequency) for x in row]


class PipelineRun:
    """The pipeline in this process."""

    process = 'self'

    def __init__(self, method: str) -> None:
        matcher = create_matcher('nearest', INTERVAL, 60 * NANOSECONDS, NANOSECONDS, 10_000)
        self._pipeline = Pipeline(create(method), matcher, window=WINDOW)
        self._generator = random.Random(0)
        self._window: deque[Sample] = deque(maxlen=WINDOW)

    def part(self, first: int, number: int) -> None:
        """As in `Run`."""
        chance = self._generator.random
        predict, label, keep = self._pipeline.predict, self._pipeline.label, self._window.append
        for i in range(first, first + number):
            predict(Prediction(i * INTERVAL, chance()))
            if i > LABEL_DELAY and chance() > LOST:
                for match in label(Label((i - LABEL_DELAY) * INTERVAL, float(chance() < 0.5))):
                    keep((match.raw, match.published, match.label))

    def processor_seconds(self) -> float:
        """As in `Run`."""
        return time.process_time()

    def error(self) -> float:
        """As in `Run`."""
        if not self._window:
            return 0.0
        raw, published, y = (list(column) for column in zip(*self._window))
        errors = []
        for figures, p in ((self._pipeline.raw, raw), (self._pipeline.calibrated, published)):
            found = [figures.ece(), figures.brier(), figures.log_loss()]
            errors.append(farthest(found, [ece(p, y), brier(p, y), log_loss(p, y)]))
            table = [float(x) for row in figures.table() for x in row]
            errors.append(farthest(table, diagram(p, y, figures.bins)))
        return max(errors)

    def __enter__(self) -> PipelineRun:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def judge(
    seconds: list[float], sizes: list[int], memory: list[float], error: float, settled: int
) -> bool:
    """Print what was measured; return whether it is within the bounds."""
    rates = [n / s for n, s in zip(sizes, seconds, strict=True)]
    tenth = max(len(rates) // 10, 1)
    first, last = statistics.median(rates[:tenth]), statistics.median(rates[-tenth:])
    growth = memory[-1] - memory[settled]
    at = sum(sizes[: settled + 1])
    print(f'resident after {at:,} samples {memory[settled]:.1f} MB, at the end {memory[-1]:.1f} MB')
    print(f'samples a second of processor time: first tenth {first:,.0f}, last tenth {last:,.0f}')
    print(f'largest error of a figure of the window: {error:.1e}')
    broken = []
    if growth >= GROWTH:
        broken.append(f'the resident memory has grown by {growth:.1f} MB')
    if error > ERROR:
        broken.append(f'a figure was off by {error:.1e}')
    if last < (1.0 - SLOWER) * first:
        broken.append(f'the last tenth was {1.0 - last / first:.1%} slower than the first')
    for sentence in broken:
        print(f'BROKEN: {sentence}')
    return not broken


def measure(run: Any, samples: int) -> bool:
    """Run all parts; return whether what was measured is within the bounds."""
    size = max(samples // PARTS, 1)
    firsts = range(1, samples + 1, size)
    sizes = [min(size, samples + 1 - first) for first in firsts]
    seconds, memory, error = [], [], 0.0
    start = time.perf_counter()
    with Progress(len(sizes), f'parts of {size:,} samples') as progress:
        for first, number in zip(firsts, sizes, strict=True):
            before = run.processor_seconds()
            run.part(first, number)
            seconds.append(run.processor_seconds() - before)
            memory.append(megabytes(run.process))
            error = max(error, run.error())
            progress.advance(f'{memory[-1]:.1f} MB')
    print(f'{samples:,} samples in {time.perf_counter() - start:.0f} s')
    settled = min(-(-SETTLED // size), len(sizes)) - 1
    return judge(seconds, sizes, memory, error, settled)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--samples', type=int, help='default: 10 000 000, with --dds 1 000 000')
    parser.add_argument('--dds', action='store_true', help='the node in a process of its own')
    parser.add_argument('--method', choices=list(CALIBRATORS), default='ops')
    arguments = parser.parse_args()
    if arguments.dds:
        from soak_node import NodeRun

        opened: Any = NodeRun(arguments.method)
    else:
        opened = PipelineRun(arguments.method)
    with opened as run:
        within = measure(run, arguments.samples or (1_000_000 if arguments.dds else 10_000_000))
    sys.exit(0 if within else 1)


if __name__ == '__main__':
    main()
