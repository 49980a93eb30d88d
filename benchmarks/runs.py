# SPDX-License-Identifier: Apache-2.0
"""Methods run over streams in several processes, and the options that say which."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from math import log
from typing import Any

from calib_node.core.calibrators import CALIBRATORS, create
from calib_node.core.calibrators.mixture.experts import NAMES as EXPERTS
from calib_node.core.evaluate import forecasts
from calib_node.tools.progress import Progress

MARGIN = 0.001
"""By less than this a log-loss is as good as another."""


@dataclass(frozen=True)
class Samples:
    """A stream as the calibrators see it: probabilities of a classifier and labels, in order."""

    name: str
    p: list[float]
    y: list[int]

    def __len__(self) -> int:
        return len(self.p)


Key = tuple[str, str, int]
"""Stream, method and delay."""


@dataclass(frozen=True)
class Job:
    """A stream that is made where it is run, what is run over it, and what is kept of that."""

    make: Callable[[], Samples]
    methods: Collection[str]
    delays: Collection[int]
    keep: Callable[[list[float], list[int]], Any] | None = None
    """Of forecasts and labels; without it the forecasts."""


def run(job: Job) -> tuple[Samples, dict[Key, Any]]:
    """Return a stream, and what is kept of every method at every delay."""
    samples, kept = job.make(), {}
    for method, delay in product(job.methods, job.delays):
        pairs = zip(samples.p, samples.y, strict=True)
        q = forecasts(create(method), pairs, delay)
        kept[samples.name, method, delay] = job.keep(q, samples.y) if job.keep else q
    return samples, kept


def run_all(jobs: list[Job], processes: int) -> tuple[list[Samples], dict[Key, Any]]:
    """Return the streams in the order of the jobs, and what is kept of all of them."""
    streams, kept = [], {}
    with (
        multiprocessing.Pool(processes) if processes > 1 else nullcontext() as pool,
        Progress(len(jobs), 'streams') as progress,
    ):
        for samples, found in pool.imap(run, jobs) if pool else map(run, jobs):
            streams.append(samples)
            kept.update(found)
            progress.advance(samples.name)
    return streams, kept


def excess(losses: dict[str, float]) -> tuple[float, str]:
    """Return by how much the mixture is above the best of the other methods, and which that is."""
    best = min((name for name in losses if name != 'mixture'), key=lambda name: losses[name])
    return losses['mixture'] - losses[best], best


def allowance(delay: int, count: int) -> float:
    """Return how far above the best method the mixture may be on a stream of `count` samples."""
    return max(MARGIN, (1 + delay) * log(len(EXPERTS)) / count)


def names(known: Collection[str]) -> Callable[[str], list[str]]:
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


def add_options(parser: argparse.ArgumentParser, streams: Collection[str]) -> None:
    """Add the options that all benchmarks of streams have."""
    for option, known in (('streams', streams), ('methods', CALIBRATORS)):
        parser.add_argument(
            f'--{option}',
            type=names(known),
            default=list(known),
            help=f'comma-separated, among {",".join(known)}',
        )
    parser.add_argument('--delays', type=delays, default=[0, 20, 50, 300], help='0,20,50,300')
    parser.add_argument('--samples', type=int, help='use only the first samples of each stream')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1, help='processes')
