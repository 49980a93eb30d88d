# SPDX-License-Identifier: Apache-2.0
"""What the soak runs, and the window that its figures are checked against."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections import deque

from calib_node.core.calibrators import create
from calib_node.core.matching import create_matcher
from calib_node.core.metrics import brier, ece, log_loss, reliability
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import NANOSECONDS, Label, Match, Prediction

INTERVAL = NANOSECONDS // 100
LABEL_DELAY = 100
LOST = 0.02
WINDOW = 1000
BINS = 15


class Run(ABC):
    """A run that goes on where it was left."""

    process: int | str
    """Whose memory is looked at."""

    def __init__(self) -> None:
        self._chance = random.Random(0).random
        self._window: deque[tuple[float, float, int]] = deque(maxlen=WINDOW)
        """Raw, published, label."""

    @abstractmethod
    def part(self, first: int, number: int) -> None:
        """Run samples, the first of which has the number `first`, to their end."""

    @abstractmethod
    def processor_seconds(self) -> float:
        """Return the processor time used so far."""

    @abstractmethod
    def figures(self) -> tuple[list[float], list[float]]:
        """Return the figures before and after calibration: some of `expected`, in its order."""

    def error(self) -> float:
        """Return how far the figures are from those of the samples in the window."""
        if not self._window:
            return 0.0
        raw, published, y = (list(column) for column in zip(*self._window))
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
        matcher = create_matcher('nearest', INTERVAL, 60 * NANOSECONDS, NANOSECONDS, 10_000)
        self._pipeline = Pipeline(create(method), matcher, bins=BINS, window=WINDOW)
        self._pipeline.on_match.append(self._keep)

    def _keep(self, match: Match[float]) -> None:
        self._window.append((match.raw, match.published, match.label))

    def part(self, first: int, number: int) -> None:
        """As in `Run`."""
        chance = self._chance
        predict, label = self._pipeline.predict, self._pipeline.label
        for i in range(first, first + number):
            predict(Prediction(i * INTERVAL, chance()))
            if i > LABEL_DELAY and chance() > LOST:
                label(Label((i - LABEL_DELAY) * INTERVAL, float(chance() < 0.5)))

    def processor_seconds(self) -> float:
        """As in `Run`."""
        return time.process_time()

    def figures(self) -> tuple[list[float], list[float]]:
        """As in `Run`: all of them."""
        raw, calibrated = (
            [f.log_loss(), f.brier(), f.ece(), *(float(x) for row in f.table() for x in row)]
            for f in (self._pipeline.scores.raw, self._pipeline.scores.calibrated)
        )
        return raw, calibrated
