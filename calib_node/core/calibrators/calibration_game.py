# SPDX-License-Identifier: Apache-2.0
"""The game against outcomes by which forecasts stay calibrated, whatever the outcomes are."""

from __future__ import annotations


class CalibrationGame:
    """Foster's game of 1999 (F99): forecasts that any outcomes leave calibrated to half a bin.

    It forecasts mid-points of equal bins of [0, 1]. One whose mean outcome lies within its bin is
    sound, and so is one never forecast: the preferred one is forecast if it is sound, else the
    lowest sound one. If there is none, there are two neighbours of which the lower has seen too
    many positives and the upper too few. Either is forecast at random, so that in the mean no
    outcome makes it worse.

    Parameters
    ----------
    bins : int
        Number of points, (i + 1/2) / bins.
    preferred : int
        The point forecast as long as it is sound.

    Attributes
    ----------
    choice : tuple of int and float
        A point, and the probability with which it is the next forecast; otherwise the point
        above it is.

    References
    ----------
    Foster, *A proof of calibration via Blackwell's approachability theorem*, Games and Economic
    Behavior 29, 1999.

    Examples
    --------
    >>> game = CalibrationGame(bins=2, preferred=1)
    >>> game.choice
    (1, 1.0)
    >>> game.learn(1, 0)
    >>> game.choice
    (0, 1.0)
    >>> game.learn(0, 1)
    >>> game.choice
    (0, 0.5)
    """

    __slots__ = ('choice', 'counts', 'positives', 'preferred')

    def __init__(self, bins: int, preferred: int) -> None:
        self.counts = [0] * bins
        self.positives = [0] * bins
        self.preferred = preferred
        self.choice = (preferred, 1.0)

    def tallies(self) -> tuple[list[int], list[int]]:
        """Return copies of the number of outcomes of each point, and of the positive ones."""
        return self.counts.copy(), self.positives.copy()

    def take(self, counts: list[int], positives: list[int]) -> None:
        """Go on from what `tallies` gave."""
        self.counts, self.positives = counts, positives
        self.choose()

    def learn(self, point: int, y: int) -> None:
        """Count the outcome of a forecast of `point`."""
        self.counts[point] += 1
        if y:
            self.positives[point] += 1
        self.choose()

    def choose(self) -> None:
        """Find the next choice."""
        # In whole numbers, because a mean outcome may lie on an edge.
        counts, positives, bins = self.counts, self.positives, len(self.counts)
        point = self.preferred
        if point * counts[point] <= bins * positives[point] <= (point + 1) * counts[point]:
            self.choice = (point, 1.0)
            return
        upper = 0
        for point, count in enumerate(counts):
            scaled = bins * positives[point]
            if scaled < point * count:
                upper = upper or point
            elif scaled <= (point + 1) * count:
                self.choice = (point, 1.0)
                return
        lower = upper - 1
        deficit = (upper * counts[upper] - bins * positives[upper]) * counts[lower]
        excess = (bins * positives[lower] - upper * counts[lower]) * counts[upper]
        self.choice = (lower, deficit / (deficit + excess))
