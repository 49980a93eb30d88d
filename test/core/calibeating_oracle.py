# SPDX-License-Identifier: Apache-2.0
"""Tracking and hedging in exact fractions, written from their definitions alone.

They take the output of the wrapped calibrator, and hold every outcome in a list.
"""

from __future__ import annotations

from fractions import Fraction

HALF = Fraction(1, 2)


def bin_of(q: float, bins: int) -> int:
    return min(int(q * bins), bins - 1)


class TrackingOracle:
    """The mean outcome of a bin; its mid-point counts for `pseudo_count` outcomes."""

    def __init__(self, bins: int = 10, pseudo_count: float = 0.0) -> None:
        self.bins = bins
        self.pseudo_count = Fraction(pseudo_count)
        self.outcomes: list[list[int]] = [[] for _ in range(bins)]

    def forecast(self, q: float) -> Fraction:
        b = bin_of(q, self.bins)
        midpoint = (b + HALF) / self.bins
        weight = len(self.outcomes[b]) + self.pseudo_count
        if weight == 0:
            return midpoint
        return (sum(self.outcomes[b]) + self.pseudo_count * midpoint) / weight

    def learn(self, q: float, y: int) -> None:
        self.outcomes[bin_of(q, self.bins)].append(y)


class GameOracle:
    """Foster's game of a given pivot: points M_i, edges L_i and R_i, mean outcomes q_i."""

    def __init__(self, bins: int, pivot: int) -> None:
        self.bins, self.pivot = bins, pivot
        self.outcomes: list[list[int]] = [[] for _ in range(bins)]

    def mean(self, i: int) -> Fraction:
        seen = self.outcomes[i]
        return Fraction(sum(seen), len(seen)) if seen else (i + HALF) / self.bins

    def distribution(self) -> dict[int, Fraction]:
        """Return the probability of each point that may be forecast next."""
        points = range(self.bins)
        d = [Fraction(i, self.bins) - self.mean(i) for i in points]
        e = [self.mean(i) - Fraction(i + 1, self.bins) for i in points]
        sound = [i for i in points if d[i] <= 0 and e[i] <= 0]
        if self.pivot in sound:
            return {self.pivot: Fraction(1)}
        if sound:
            return {sound[0]: Fraction(1)}
        j = next(i for i in points if d[i] > 0)
        share = d[j] / (d[j] + e[j - 1])
        return {j - 1: share, j: 1 - share}

    def learn(self, point: int, y: int) -> None:
        self.outcomes[point].append(y)
