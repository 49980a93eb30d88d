# SPDX-License-Identifier: Apache-2.0
"""Isotonic regression of a whole set of samples."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.calibrators.fits.checks import (
    Floats,
    Integers,
    check_outcomes,
    check_probabilities,
)
from calib_node.core.refusal import bad_probability


@dataclass(frozen=True)
class IsotonicMap:
    """A map that never decreases: a staircase, or straight lines between its knots.

    Attributes
    ----------
    knots : tuple of float
        Of a staircase the p from which the next value holds, one fewer than values; of straight
        lines the p that has each value.
    values : tuple of float
        Calibrated probabilities.
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def predict(self, p: float) -> float:
        """Return the calibrated probability of one `p`.

        Returns
        -------
        float
            Within [0, 1].

        Raises
        ------
        ValueError
            If `p` is outside [0, 1].
        """
        if not 0.0 <= p <= 1.0:
            raise bad_probability(p)
        knots, values = self.knots, self.values
        index = bisect_right(knots, p)
        if len(knots) < len(values):
            return values[index]
        if index == 0:
            return values[0]
        if index == len(knots):
            return values[-1]
        left, right = knots[index - 1], knots[index]
        low, high = values[index - 1], values[index]
        return min(low + (high - low) * ((p - left) / (right - left)), high)

    def transform(self, p: ArrayLike) -> Floats:
        """Return the calibrated probabilities of an array, of any shape.

        Returns
        -------
        ndarray of float, shape of `p`
            Within [0, 1].

        Raises
        ------
        ValueError
            If any `p` is outside [0, 1].
        """
        probabilities = check_probabilities(p)
        knots, values = np.array(self.knots), np.array(self.values)
        if len(knots) < len(values):
            result: Floats = values[np.searchsorted(knots, probabilities, side='right')]
            return result
        if len(knots) == 1:
            return np.full_like(probabilities, values[0])
        within = np.clip(probabilities, knots[0], knots[-1])
        index = np.clip(np.searchsorted(knots, within, side='right'), 1, len(knots) - 1)
        left, right = knots[index - 1], knots[index]
        low, high = values[index - 1], values[index]
        line = low + (high - low) * ((within - left) / (right - left))
        bounded: Floats = np.minimum(line, high)
        return bounded


def fit_isotonic(
    p: ArrayLike, y: ArrayLike, smooth: bool = True, interpolate: bool = False
) -> IsotonicMap:
    """Fit the non-decreasing map of smallest squared error, by pool-adjacent-violators.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities of the positive class. Equal ones share a block.
    y : array_like of int, shape (n,)
        Labels, 0 or 1.
    smooth : bool
        The value of a block of n labels is ``(sum y + 1/2) / (n + 1)`` in place of their mean, so
        that it is never 0 or 1. Blocks that this puts out of order are pooled.
    interpolate : bool
        Straight lines between the mean p of the blocks, level beyond the first and the last,
        in place of a staircase with its steps half way between the blocks.

    Returns
    -------
    IsotonicMap
        Its values do not decrease.

    Raises
    ------
    ValueError
        If `p` and `y` are empty, of unequal length, or out of range.

    References
    ----------
    Ayer et al., *An empirical distribution function for sampling with incomplete information*,
    Annals of Mathematical Statistics 26, 1955. Zadrozny and Elkan, *Transforming classifier scores
    into accurate multiclass probability estimates*, KDD 2002. The smoothed value is the estimate
    of Krichevsky and Trofimov, 1981.

    Examples
    --------
    >>> fitted = fit_isotonic([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], smooth=False)
    >>> [fitted.predict(p) for p in (0.0, 0.2, 0.3, 1.0)]
    [0.0, 0.5, 0.5, 1.0]
    >>> fit_isotonic([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]).values
    (0.25, 0.5, 0.75)
    """
    blocks = isotonic_blocks(p, y, smooth)
    return blocks.lines() if interpolate else blocks.steps()


@dataclass(frozen=True)
class IsotonicBlocks:
    """Neighbouring p that share a value, from the lowest to the highest.

    Attributes
    ----------
    low, mean, high : ndarray of float, shape (blocks,)
        Smallest, mean and largest p of each block.
    values : tuple of float
        What each is mapped to.
    """

    low: Floats
    mean: Floats
    high: Floats
    values: tuple[float, ...]

    def steps(self) -> IsotonicMap:
        """Return the staircase, whose steps lie half way between the blocks."""
        left, right = self.high[:-1], self.low[1:]
        middle = 0.5 * (left + right)
        knots = np.where(middle > left, middle, right)
        return IsotonicMap(tuple(knots.tolist()), self.values)

    def lines(self) -> IsotonicMap:
        """Return the straight lines between the blocks' means."""
        return IsotonicMap(tuple(self.mean.tolist()), self.values)


def isotonic_blocks(p: ArrayLike, y: ArrayLike, smooth: bool) -> IsotonicBlocks:
    """Return what `fit_isotonic` makes a map of; its parameters are those of `fit_isotonic`."""
    probabilities, labels = check_outcomes(p, y)
    order = np.argsort(probabilities)
    ordered = probabilities[order]
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts, sums = _pool_runs(
        np.diff(firsts, append=ordered.size), np.add.reduceat(labels[order], firsts)
    )
    blocks = _pool(counts.tolist(), sums.tolist(), 0)
    if smooth:
        # (sum y + 1/2) / (n + 1) with both doubled, for whole numbers to be compared.
        blocks = _pool([2 * n + 2 for n in blocks[0]], [2 * s + 1 for s in blocks[1]], 1)
    weights, totals = blocks
    values = tuple([total / weight for total, weight in zip(totals, weights)])

    sizes = np.array(weights) // 2 - 1 if smooth else np.array(weights)
    lasts = np.cumsum(sizes) - 1
    firsts = lasts - sizes + 1
    low, high = ordered[firsts], ordered[lasts]
    # A mean of equal numbers may round to a number beyond them.
    mean = np.minimum(np.maximum(np.add.reduceat(ordered, firsts) / sizes, low), high)
    return IsotonicBlocks(low, mean, high, values)


def _pool_runs(counts: Integers, sums: Integers) -> tuple[Integers, Integers]:
    """Pool runs of means that do not rise: they share a block whatever is beside them.

    It leaves less to the loop over blocks, which costs more a block.
    """
    for _ in range(2):
        rises = sums[:-1] * counts[1:] < sums[1:] * counts[:-1]
        starts = np.concatenate(([0], np.flatnonzero(rises) + 1))
        counts, sums = np.add.reduceat(counts, starts), np.add.reduceat(sums, starts)
    return counts, sums


def _pool(weights: list[int], totals: list[int], shared: int) -> tuple[list[int], list[int]]:
    """Pool neighbouring blocks until their ratios ``total / weight`` rise from block to block.

    Parameters
    ----------
    weights, totals : list of int
        Of each block.
    shared : int
        What a total of two blocks counts twice; of the weight it is twice that.
    """
    pooled_weights: list[int] = []
    pooled_totals: list[int] = []
    for weight, total in zip(weights, totals):
        while pooled_weights and pooled_totals[-1] * weight >= total * pooled_weights[-1]:
            weight += pooled_weights.pop() - 2 * shared
            total += pooled_totals.pop() - shared
        pooled_weights.append(weight)
        pooled_totals.append(total)
    return pooled_weights, pooled_totals
