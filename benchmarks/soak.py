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
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from calib_node.core.calibrators import CALIBRATORS
from calib_node.tools.progress import Progress

PARTS = 100
SETTLED = 100_000
"""Samples after which nothing has a reason to grow."""
PAGE = os.sysconf('SC_PAGE_SIZE')

GROWTH = 5.0
ERROR = 1e-9
SLOWER = 0.05


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
    """Go through all parts of a `soak_runs.Run`; return whether it is within the bounds."""
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
        from soak_node import node_run

        with node_run(arguments.method) as run:
            within = measure(run, arguments.samples or 1_000_000)
    else:
        from soak_runs import PipelineRun

        within = measure(PipelineRun(arguments.method), arguments.samples or 10_000_000)
    sys.exit(0 if within else 1)


if __name__ == '__main__':
    main()
