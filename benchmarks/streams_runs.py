# SPDX-License-Identifier: Apache-2.0
"""Calibrators run over streams, and what they score."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from itertools import product
from math import log
from pathlib import Path

import numpy as np
from streams_data import Samples

from calib_node.core.calibrators import create
from calib_node.core.calibrators.base import Calibrator
from calib_node.core.calibrators.fits import (
    TemperatureMap,
    fit_temperature,
    fit_temperature_logits,
)
from calib_node.core.calibrators.mixture.experts import NAMES as EXPERTS
from calib_node.core.calibrators.sgd import logistic, sgd_step
from calib_node.core.metrics import accuracy, brier, ece, log_loss, top_label_ece

MARGIN = 0.001
"""By less than this a log-loss is as good as another."""
FIRST = 1000
"""Samples that a calibration error leaves out: the paper fits its fixed maps on them."""

PARTS = {
    'step size 0.1': {'averaging': False, 'spring': False, 'auto': False},
    'averaging': {'spring': False, 'auto': False},
    'spring': {'averaging': False, 'auto': False},
    'auto': {'averaging': False, 'spring': False},
    'averaging and spring': {'auto': False},
}
"""Switches of the step-size ensemble."""

Forecasts = dict[tuple[str, str, int], list[float]]
"""By stream, method and delay."""


def forecasts(calibrator: Calibrator, samples: Samples, delay: int = 0) -> list[float]:
    """Return the forecasts for a stream, with each label `delay` predictions late."""
    pending: deque[tuple[float, int, object]] = deque()
    output = []
    for p, y in zip(samples.p, samples.y, strict=True):
        q, ticket = calibrator.issue(p)
        output.append(q)
        pending.append((p, y, ticket))
        if len(pending) > delay:
            calibrator.update(*pending.popleft())
    return output


def step_size_1(samples: Samples, warmup: int = 500, clip: float = 0.01) -> list[float]:
    """Return the forecasts of the fastest map of the step-size ensemble alone."""
    parameters, output = (0.0, 0.0), []
    for number, (p, y) in enumerate(zip(samples.p, samples.y, strict=True)):
        clipped = min(max(p, clip), 1.0 - clip)
        logit = log(clipped / (1.0 - clipped))
        output.append(clipped if number < warmup else logistic(parameters, logit))
        parameters = sgd_step(parameters, logit, y, 1.0)
    return output


def run(job: tuple[Samples, str, int]) -> tuple[tuple[str, str, int], list[float]]:
    """Run one method over one stream at one delay."""
    samples, method, delay = job
    return (samples.name, method, delay), forecasts(create(method), samples, delay)


def run_all(
    streams: list[Samples], methods: list[str], delays: list[int], processes: int
) -> Iterator[tuple[tuple[str, str, int], list[float]]]:
    """Yield each run as it is done, the longest streams first."""
    longest_first = sorted(streams, key=len, reverse=True)
    jobs = [(s, m, d) for s, m, d in product(longest_first, methods, delays)]
    if processes == 1:
        yield from map(run, jobs)
        return
    with multiprocessing.Pool(processes) as pool:
        yield from pool.imap_unordered(run, jobs)


def scores(q: list[float], y: list[int]) -> str:
    """Return accuracy/log-loss/Brier to four digits."""
    return '/'.join(map(digits, (accuracy(q, y), log_loss(q, y), brier(q, y))))


def digits(value: float) -> str:
    """Return a number to four digits, without a leading zero."""
    return f'{value:.4f}'.removeprefix('0')


def part_scores(samples: Samples) -> dict[str, str]:
    """Return the scores of the parts of the step-size ensemble."""
    output = {
        name: forecasts(create('ensemble', **switches), samples) for name, switches in PARTS.items()
    }
    output['step size 1.0'] = step_size_1(samples)
    return {name: scores(q, samples.y) for name, q in output.items()}


def calibration_error(q: list[float], y: list[int]) -> float:
    """Return the paper's CE: 10 right-closed bins, without the first samples."""
    return ece(q[FIRST:], y[FIRST:], 10, closed='right')


def allowance(delay: int, count: int) -> float:
    """Return how far above the best method the mixture may be on a stream of `count` samples."""
    return max(MARGIN, (1 + delay) * log(len(EXPERTS)) / count)


def temperature(path: Path) -> str:
    """Return temperature and ECE before and after; fitted on the first half of an .npz."""
    with np.load(path, allow_pickle=False) as arrays:
        if 'logits' in arrays:
            values, y = arrays['logits'], arrays['labels']
            fitted = fit_temperature_logits(values[: len(y) // 2], y[: len(y) // 2])
            before = TemperatureMap(1.0).transform_logits(values)
            after = fitted.transform_logits(values)
        elif 'predictions' in arrays:
            before, y = arrays['predictions'], arrays['ground_truth']
            fitted = fit_temperature(before[: len(y) // 2], y[: len(y) // 2])
            after = fitted.transform(before)
        else:
            raise SystemExit(f'{path} holds neither logits and labels nor predictions')
    second = slice(len(y) // 2, None)
    errors = (top_label_ece(p[second], y[second], 15) for p in (before, after))
    return ' '.join((f'{fitted.temperature:.4f}', *map(digits, errors)))
