# SPDX-License-Identifier: Apache-2.0
"""Scores of the last samples, O(1) a sample and without drift."""

from __future__ import annotations

from collections import deque
from math import log

from calib_node.core.metrics.scores import LOG_LOSS_CLIP
from calib_node.core.refusal import bad_label, bad_probability

# Sums are kept as whole numbers of 2**-60. What is added is later taken away exactly, so a window
# is as exact after a billion samples as after the first; a float sum would drift.
FRACTION_BITS = 60
SCALE = float(1 << FRACTION_BITS)
LOWEST, HIGHEST = LOG_LOSS_CLIP, 1.0 - LOG_LOSS_CLIP


class RollingReliability:
    """ECE, Brier score, log-loss and reliability diagram of the last samples.

    The scores of an empty window raise a ValueError; `count` tells whether it is one.

    Parameters
    ----------
    bins : int
        Equal-width bins; bin ``min(floor(p bins), bins - 1)``, so p = 1 is in the last.
    window : int
        Number of samples kept.

    Examples
    --------
    >>> rolling = RollingReliability(bins=2, window=3)
    >>> for p, y in [(1.0, 0), (0.1, 0), (0.1, 1), (0.9, 1)]:
    ...     rolling.add(p, y)
    >>> rolling.count, round(rolling.ece(), 4)
    (3, 0.3)
    """

    def __init__(self, bins: int = 15, window: int = 1000) -> None:
        if bins < 1 or window < 1:
            raise ValueError(f'bins and window must be at least 1, not {bins} and {window}')
        self.bins = bins
        self.window = window
        self.clear()

    def clear(self) -> None:
        """Start the window anew."""
        self._samples: deque[tuple[int, int, int, int, int]] = deque()
        self._counts = [0] * self.bins
        self._positives = [0] * self.bins
        self._sums = [0] * self.bins
        self._squares = 0
        self._losses = 0

    @property
    def count(self) -> int:
        """Samples in the window."""
        return len(self._samples)

    def add(self, p: float, y: int) -> None:
        """Take in the probability `p` of a sample and its label `y`, 0 or 1."""
        if not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        if y != 0 and y != 1:
            raise bad_label(y)
        # Sums are exact in Python's own whole numbers alone, not in those of numpy, which overflow.
        p, y = float(p), int(y)
        bins = self.bins
        index = int(p * bins)
        if index >= bins:
            index = bins - 1
        fixed = int(p * SCALE)
        error = p - y
        square = int(error * error * SCALE)
        of_label = p if y else 1.0 - p
        if of_label < LOWEST:
            of_label = LOWEST
        elif of_label > HIGHEST:
            of_label = HIGHEST
        loss = int(log(of_label) * -SCALE)
        counts, positives, sums = self._counts, self._positives, self._sums
        counts[index] += 1
        positives[index] += y
        sums[index] += fixed
        self._squares += square
        self._losses += loss
        samples = self._samples
        samples.append((index, y, fixed, square, loss))
        if len(samples) > self.window:
            index, y, fixed, square, loss = samples.popleft()
            counts[index] -= 1
            positives[index] -= y
            sums[index] -= fixed
            self._squares -= square
            self._losses -= loss

    def _share(self, total: int) -> float:
        if not self._samples:
            raise ValueError('the window is empty: add samples before asking for its scores')
        return total / (len(self._samples) << FRACTION_BITS)

    def ece(self) -> float:
        """Expected calibration error of the window."""
        return self._share(
            sum(
                abs(total - (positives << FRACTION_BITS))
                for total, positives in zip(self._sums, self._positives, strict=True)
            )
        )

    def brier(self) -> float:
        """Brier score of the window."""
        return self._share(self._squares)

    def log_loss(self) -> float:
        """Log-loss of the window, clipped as in `scores.log_loss`."""
        return self._share(self._losses)

    def table(self) -> list[tuple[int, float, float]]:
        """Count, mean probability and frequency per bin; NaN twice where the bin is empty."""
        nan = float('nan')
        return [
            (n, total / (n << FRACTION_BITS), positives / n) if n else (0, nan, nan)
            for n, total, positives in zip(self._counts, self._sums, self._positives, strict=True)
        ]
