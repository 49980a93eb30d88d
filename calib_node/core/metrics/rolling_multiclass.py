# SPDX-License-Identifier: Apache-2.0
"""Scores of the last samples of several classes."""

from __future__ import annotations

from collections import deque
from math import log

import numpy as np
from numpy.typing import NDArray

from calib_node.core.metrics.rolling import (
    FRACTION_BITS,
    HIGHEST,
    LOWEST,
    SCALE,
    RollingReliability,
)
from calib_node.core.refusal import bad_probability


class RollingMean:
    """Mean of the last numbers, as exact after a billion of them as after the first.

    Parameters
    ----------
    window : int
        How many numbers are kept.

    Examples
    --------
    >>> rolling = RollingMean(window=2)
    >>> for number in (1e6, 0.25, 0.5):
    ...     rolling.add(number)
    >>> rolling.mean()
    0.375
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self._numbers: deque[int] = deque()
        self._total = 0

    def add(self, number: float) -> None:
        """Take in a finite number."""
        fixed = int(number * SCALE)
        self._numbers.append(fixed)
        self._total += fixed
        if len(self._numbers) > self.window:
            self._total -= self._numbers.popleft()

    def mean(self) -> float:
        """Return the mean of the window.

        Raises
        ------
        ValueError
            If it is empty.
        """
        if not self._numbers:
            raise ValueError('the window is empty: add samples before asking for its scores')
        return self._total / (len(self._numbers) << FRACTION_BITS)


class MulticlassReliability:
    """Scores of the last samples of several classes.

    ECE and reliability diagram are those of the top class: its probability is the confidence, and
    a sample is positive when it was the true class (Guo and others, *On calibration of modern
    neural networks*, ICML 2017). Brier score and log-loss are those of `multiclass_brier` and
    `multiclass_log_loss`. The scores of an empty window raise a ValueError; `count` tells whether
    it is one.

    Parameters
    ----------
    bins, window : int
        As in `RollingReliability`.

    Examples
    --------
    >>> rolling = MulticlassReliability(bins=2, window=3)
    >>> for p, y in [([0.2, 0.3, 0.5], 1), ([0.7, 0.2, 0.1], 0)]:
    ...     rolling.add(np.array(p), y)
    >>> round(rolling.ece(), 4), round(rolling.brier(), 4), round(rolling.log_loss(), 4)
    (0.1, 0.46, 0.7803)
    """

    def __init__(self, bins: int = 15, window: int = 1000) -> None:
        self._top = RollingReliability(bins, window)
        self._squares = RollingMean(window)
        self._losses = RollingMean(window)

    @property
    def bins(self) -> int:
        """Equal-width bins of the top class's probability."""
        return self._top.bins

    @property
    def window(self) -> int:
        """Number of samples kept."""
        return self._top.window

    @property
    def count(self) -> int:
        """Samples in the window."""
        return self._top.count

    def add(self, p: NDArray[np.float64], y: int) -> None:
        """Take in the probabilities of a sample and the index of its class.

        Parameters
        ----------
        p : ndarray of float, shape (K,)
            One probability per class. Of several largest ones the first is that of the top class.
        y : int
            From 0 to K - 1.

        Raises
        ------
        ValueError
            If there is no such class, or a probability is outside [0, 1].
        """
        if not 0 <= y < len(p):
            raise ValueError(f'a class index must be from 0 to {len(p) - 1}, not {y!r}')
        lowest, top = float(p[p.argmin()]), int(p.argmax())
        # Before anything is added: all of a sample is taken in, or nothing.
        if not lowest >= 0.0:
            raise bad_probability(lowest)
        self._top.add(float(p[top]), int(top == y))
        self._losses.add(-log(min(max(float(p[y]), LOWEST), HIGHEST)))
        error = p.copy()
        error[y] -= 1.0
        self._squares.add(float(error @ error))

    def ece(self) -> float:
        """Expected calibration error of the top class."""
        return self._top.ece()

    def brier(self) -> float:
        """Squared error summed over the classes, from 0 to 2."""
        return self._squares.mean()

    def log_loss(self) -> float:
        """Log-loss of the true class's probability, clipped as in `multiclass_log_loss`."""
        return self._losses.mean()

    def table(self) -> list[tuple[int, float, float]]:
        """Count, mean probability and frequency per bin of the top class, NaN twice if empty."""
        return self._top.table()
