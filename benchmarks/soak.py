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
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

from calib_node.core.calibrators import CALIBRATORS, create
from calib_node.core.matching import create_matcher
from calib_node.core.metrics import brier, ece, log_loss, reliability
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import NANOSECONDS, Label, Match, Prediction
from calib_node.tools.progress import Progress

INTERVAL = NANOSECONDS // 100
LABEL_DELAY = 100
LOST = 0.02
WINDOW = 1000
BINS = 15
HORIZON = 60.0
"""Seconds."""
PERIOD = 0.25
"""Seconds between what the node publishes of itself."""
OUTSTANDING = 50
"""Predictions that the node has not answered; fewer than those that a label is late."""

PARTS = 100
SETTLED = 100_000
"""Samples after which nothing has a reason to grow."""
PAGE = os.sysconf('SC_PAGE_SIZE')

GROWTH = 5.0
ERROR = 1e-9
SLOWER = 0.05


class Run:
    """What goes on where it was left, part by part, and the samples that it should have scored.

    A run has besides: `process`, whose memory is looked at; `part(first, number)`, which runs
    samples to their end, the first of them with the number `first`; `processor_seconds()`, used so
    far; and `figures()`, those before and after calibration, which are all or the last of
    `expected`.
    """

    def __init__(self) -> None:
        self.chance = random.Random(0).random
        self.window: deque[tuple[float, float, int]] = deque(maxlen=WINDOW)
        """Raw, published, label."""

    def error(self) -> float:
        """Return how far the figures are from those of the samples in the window."""
        if not self.window:
            return 0.0
        raw, published, y = (list(column) for column in zip(*self.window))
        pairs = zip(self.figures(), (raw, published), strict=True)
        return max(farthest(found, expected(p, y)[-len(found) :]) for found, p in pairs)


def expected(p: list[float], y: list[int]) -> list[float]:
    """Return log-loss, Brier score, ECE and the reliability diagram, bin by bin."""
    table = reliability(p, y, BINS)
    diagram = (float(x) for row in zip(table.count, table.mean, table.frequency) for x in row)
    return [log_loss(p, y), brier(p, y), ece(p, y, BINS), *diagram]


def farthest(figures: list[float], others: list[float]) -> float:
    """Return the largest difference; where both are NaN there is none."""
    pairs = zip(figures, others, strict=True)
    return max(abs(a - b) for a, b in pairs if not (a != a and b != b))


class PipelineRun(Run):
    """The pipeline in this process."""

    process = 'self'

    def __init__(self, method: str) -> None:
        super().__init__()
        matcher = create_matcher(
            'nearest', INTERVAL, int(HORIZON) * NANOSECONDS, NANOSECONDS, 10_000
        )
        self._pipeline = Pipeline(create(method), matcher, bins=BINS, window=WINDOW)
        self._pipeline.on_match.append(self._keep)

    def _keep(self, match: Match[float]) -> None:
        self.window.append((match.raw, match.published, match.label))

    def part(self, first: int, number: int) -> None:
        chance, predict, label = self.chance, self._pipeline.predict, self._pipeline.label
        for i in range(first, first + number):
            predict(Prediction(i * INTERVAL, chance()))
            if i > LABEL_DELAY and chance() > LOST:
                label(Label((i - LABEL_DELAY) * INTERVAL, float(chance() < 0.5)))

    def processor_seconds(self) -> float:
        return time.process_time()

    def figures(self) -> tuple[list[float], list[float]]:
        raw, calibrated = (
            [f.log_loss(), f.brier(), f.ece(), *(float(x) for row in f.table() for x in row)]
            for f in (self._pipeline.scores.raw, self._pipeline.scores.calibrated)
        )
        return raw, calibrated


class NodeRun(Run):
    """The node in a process of its own, fed over the middleware as fast as it answers."""

    process: int

    def __init__(self, dds: ModuleType) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from std_msgs.msg import Float64, Float64MultiArray

        super().__init__()
        self._dds = dds
        self.client = dds.Client(self._on_answer)
        self.matched = -1
        """As the diagnostics say; -1 before the first."""
        self._labels = 0
        self._sent: dict[int, float] = {}
        """Raw by stamp, of what is not answered."""
        self._answered: dict[int, tuple[float, float]] = {}
        """Raw and published by stamp, of what has no label."""
        self._heard: dict[str, Any] = {}
        """The last figures that were published, by topic."""
        hear, heard = self.client.hear, self._heard
        hear(DiagnosticArray, '/diagnostics', self._on_diagnostics)
        hear(Float64, 'raw_ece', lambda message: heard.update(raw_ece=message.data))
        hear(Float64, 'ece', lambda message: heard.update(ece=message.data))
        hear(
            Float64MultiArray,
            'calib_node/reliability',
            lambda message: heard.update(diagrams=message.data.tolist()),
        )

    def _on_answer(self, stamp: int, published: float) -> None:
        self._answered[stamp] = self._sent.pop(stamp), published

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            self.matched = next(int(v.value) for v in status.values if v.key == 'matched')

    def part(self, first: int, number: int) -> None:
        spin_until = self.client.spin_until
        for i in range(first, first + number):
            p, stamp = self.chance(), self._dds.START + i * INTERVAL
            self._sent[stamp] = p
            self.client.predict(stamp, p)
            if i > LABEL_DELAY:
                self._label(stamp - LABEL_DELAY * INTERVAL)
            if len(self._sent) >= OUTSTANDING:
                spin_until(lambda: len(self._sent) < OUTSTANDING, 'an answer')
        spin_until(lambda: not self._sent, 'every answer')
        spin_until(lambda: self.matched == self._labels, 'every match')

    def _label(self, stamp: int) -> None:
        raw, published = self._answered.pop(stamp)
        if self.chance() > LOST:
            y = int(self.chance() < 0.5)
            self.client.label(stamp, y)
            self._labels += 1
            self.window.append((raw, published, y))

    def processor_seconds(self) -> float:
        return self._dds.processor_seconds(self.process)

    def figures(self) -> tuple[list[float], list[float]]:
        heard = self._heard
        # Those of before may have been under way.
        for _ in range(2):
            heard.clear()
            self.client.spin_until(lambda: len(heard) == 3, 'the figures')
        raw, calibrated, diagrams = (heard[name] for name in ('raw_ece', 'ece', 'diagrams'))
        half = len(diagrams) // 2
        return [raw, *diagrams[:half]], [calibrated, *diagrams[half:]]


@contextmanager
def node_run(method: str) -> Iterator[NodeRun]:
    """Start the node, with a client at the other side of its topics."""
    import dds  # Here alone, since the pipeline is soaked without ROS.

    parameters = {
        'method': method,
        'ece.bins': BINS,
        'ece.window': WINDOW,
        'ece.period': PERIOD,
        'diagnostics.period': PERIOD,
        'match.horizon': HORIZON,
    }
    with dds.ros():
        run = NodeRun(dds)
        with run.client.under_test(dds.node_command(**parameters)) as process:
            run.process = process.pid
            run.client.spin_until(lambda: run.matched == 0, 'the diagnostics')
            yield run


def megabytes(process: int | str) -> float:
    """Return the resident memory of a process."""
    return int(Path(f'/proc/{process}/statm').read_text().split()[1]) * PAGE / 1e6


def judge(
    seconds: list[float], sizes: list[int], memory: list[float], error: float, settled: int
) -> bool:
    """Print what was measured; return whether it is within the bounds."""
    # Of a process of its own the time is known to a tick.
    rates = [n / max(s, 0.01) for n, s in zip(sizes, seconds, strict=True)]
    tenth = max(len(rates) // 10, 1)
    first, last = median(rates[:tenth]), median(rates[-tenth:])
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
    """Go through all parts of a run; return whether it is within the bounds."""
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
        with node_run(arguments.method) as run:
            within = measure(run, arguments.samples or 1_000_000)
    else:
        within = measure(PipelineRun(arguments.method), arguments.samples or 10_000_000)
    sys.exit(0 if within else 1)


if __name__ == '__main__':
    main()
