# SPDX-License-Identifier: Apache-2.0
"""Scores of any number of samples, taken in one by one, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from calib_node.core.metrics.scores import LOG_LOSS_CLIP
from calib_node.core.metrics.smooth import noise_of_bins

BINS = 15
MOST_BLOCKS = 16
"""Sums of the log-loss over contiguous blocks are kept, at most twice as many as this."""


class Blocks:
    """Sums over contiguous blocks of samples; where there are too many, neighbours are joined.

    So that what depends on the order is kept in some twenty numbers: means of long
    blocks are nearly independent, however much neighbouring samples have in common (the method of
    batch means: Schmeiser, *Batch size effects in the analysis of simulation output*, Operations
    Research 30, 1982).

    Attributes
    ----------
    size : int
        Samples in a block.
    sums : list of float
        Of the whole blocks, in order.
    """

    def __init__(self) -> None:
        self.size = 1
        self.sums: list[float] = []
        self._count, self._sum = 0, 0.0

    def add(self, value: float) -> None:
        """Take in a sample."""
        self._count += 1
        self._sum += value
        if self._count == self.size:
            self.sums.append(self._sum)
            self._count, self._sum = 0, 0.0
            if len(self.sums) == 2 * MOST_BLOCKS:
                self._join()

    def _join(self) -> None:
        self.sums = [a + b for a, b in zip(self.sums[::2], self.sums[1::2])]
        self.size *= 2

    def extend(self, other: Blocks) -> None:
        """Take in the samples of another, but for those of a block that is not whole."""
        self._count, self._sum = 0, 0.0
        sums, size = other.sums, other.size
        while self.size < size:
            self._join()
        while size < self.size:
            sums, size = [a + b for a, b in zip(sums[::2], sums[1::2])], 2 * size
        self.sums = self.sums + sums
        while len(self.sums) >= 2 * MOST_BLOCKS:
            self._join()


class StreamedScores:
    """Scores of binary probabilities and their labels.

    Parameters
    ----------
    cost_false_positive, cost_false_negative : float
        What a wrong yes and a wrong no cost. A decision is yes where that is cheaper on average:
        above the threshold ``cost_false_positive / (cost_false_positive + cost_false_negative)``
        (Elkan, *The foundations of cost-sensitive learning*, IJCAI 2001).

    Attributes
    ----------
    count : int
        Samples taken in.
    losses : Blocks
        Of the log-loss.

    Examples
    --------
    >>> scores = StreamedScores()
    >>> for p, y in ((0.8, 1), (0.4, 0), (0.9, 0)):
    ...     scores.add(p, y)
    >>> [round(figure, 4) for figure in (scores.log_loss, scores.brier, scores.ece)]
    [1.0122, 0.3367, 0.5]
    """

    def __init__(self, cost_false_positive: float = 1.0, cost_false_negative: float = 1.0) -> None:
        self._positive, self._negative = cost_false_positive, cost_false_negative
        self._threshold = cost_false_positive / (cost_false_positive + cost_false_negative)
        self.count = 0
        self.losses = Blocks()
        self._loss = self._square = self._cost = 0.0
        self._right = 0
        self._bins = [[0.0, 0.0, 0.0] for _ in range(BINS)]

    def add(self, p: float, y: int) -> None:
        """Take in a probability and its label, 0 or 1."""
        self._add_losses(p if y else 1.0 - p, (p - y) * (p - y))
        self._right += (p > 0.5) == (y == 1)
        if p > self._threshold:
            self._cost += 0.0 if y else self._positive
        elif y:
            self._cost += self._negative
        self._add_to_bin(p, y)

    def _add_losses(self, of_truth: float, square: float) -> None:
        self.count += 1
        loss = -log(min(max(of_truth, LOG_LOSS_CLIP), 1.0 - LOG_LOSS_CLIP))
        self._loss += loss
        self._square += square
        self.losses.add(loss)

    def _add_to_bin(self, p: float, y: int) -> None:
        found = self._bins[min(int(p * BINS), BINS - 1)]
        found[0] += p
        found[1] += y
        found[2] += p * (1.0 - p)

    @property
    def log_loss(self) -> float:
        """Mean log-loss in nats, probabilities clipped as in `log_loss`; NaN without samples."""
        return self._mean(self._loss)

    @property
    def brier(self) -> float:
        """Mean squared difference from 0 to 1, of many classes summed over them."""
        return self._mean(self._square)

    @property
    def accuracy(self) -> float:
        """Share of samples whose label is the likelier one."""
        return self._mean(self._right)

    @property
    def cost(self) -> float:
        """Mean cost of the decisions."""
        return self._mean(self._cost)

    @property
    def ece(self) -> float:
        """Expected calibration error over 15 equal-width bins, of many classes that of the top."""
        return self._mean(sum(abs(p - y) for p, y, _ in self._bins))

    @property
    def ece_noise(self) -> float:
        """The ECE that honest probabilities like these have by chance.

        The mean of ``|Σ (y - p)|`` over a bin is ``sqrt(2 Σ p (1 - p) / π)``, as that sum is nearly
        normal; in bins of few samples it is somewhat less.
        """
        return self._mean(noise_of_bins([variance for *_, variance in self._bins]))

    def _mean(self, total: float) -> float:
        return total / self.count if self.count else float('nan')

    def merge(self, other: StreamedScores) -> None:
        """Take in the samples of another, which came later."""
        self.count += other.count
        self._loss += other._loss
        self._square += other._square
        self._cost += other._cost
        self._right += other._right
        for own, its in zip(self._bins, other._bins):
            own[:] = [a + b for a, b in zip(own, its)]
        self.losses.extend(other.losses)


class StreamedClassScores(StreamedScores):
    """Scores of one probability per class and the index of the class; without a cost."""

    def add(self, p: Sequence[float], y: int) -> None:  # type: ignore[override]
        """Take in K probabilities and the index of the class."""
        of_truth = p[y]
        # The terms are 0 or positive but for rounding.
        square = sum(value * value for value in p) - 2.0 * of_truth + 1.0
        self._add_losses(of_truth, square)
        top = max(p)
        # The first of several that are the largest is the top, as argmax has it.
        right = of_truth == top and list(p).index(top) == y
        self._right += right
        self._add_to_bin(top, right)


def streamed_scores(classes: int, *costs: float) -> StreamedScores:
    """Return the scores of an empty stream.

    Parameters
    ----------
    classes : int
        1 for the probability of the positive class, else K.
    *costs : float
        As of `StreamedScores`.

    Returns
    -------
    StreamedScores
    """
    return StreamedScores(*costs) if classes == 1 else StreamedClassScores(*costs)
