# SPDX-License-Identifier: Apache-2.0
"""The numbers behind the figures of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from calib_node.core.calibrators.fits import fit_isotonic
from calib_node.core.metrics import accuracy, brier, ece, log_loss, reliability
from calib_node.report.data import Floats, Integers

BINS = 15
LEVEL = 0.9
DRAWS = 1000
SEED = 1
WINDOWS = 40
"""At most so many stretches of time are told apart."""
FEWEST = 30
"""So few samples at least in a stretch, or in a context that is spoken of."""


@dataclass(frozen=True)
class Side:
    """How honest a set of probabilities is.

    Attributes
    ----------
    count : int
        Samples.
    ece, ece_by_chance, ece_high : float
        The error, its mean and its 95 % quantile for honest probabilities like these.
    brier, log_loss, accuracy : float
    said, was : float
        Mean probability, and how often it was so.
    bins : Floats
        Of each bin that is not empty: count, mean probability, frequency, and the ends of the band
        that holds the frequency of honest probabilities, shape (m, 5).
    stairs : Floats
        The isotonic fit, as points (p, frequency), shape (k, 2).
    miscalibration, discrimination, uncertainty : float
        CORP's parts of the Brier score: the first less the second, plus the third, is the score.
    """

    count: int
    ece: float
    ece_by_chance: float
    ece_high: float
    brier: float
    log_loss: float
    accuracy: float
    said: float
    was: float
    bins: Floats
    stairs: Floats
    miscalibration: float
    discrimination: float
    uncertainty: float

    @property
    def is_honest(self) -> bool:
        """Whether the error is no larger than that of honest probabilities may be by chance."""
        return self.ece <= self.ece_high


def judge(p: Floats, y: Integers) -> Side:
    """Return how honest probabilities are.

    The bands are those of Bröcker and Smith, *Increasing the reliability of reliability diagrams*,
    Weather and Forecasting 22, 2007, by draws from binomial distributions; the stairs and the parts
    of the score are those of Dimitriadis, Gneiting and Jordan, *Stable reliability diagrams for
    probabilistic classifiers*, PNAS 118, 2021.

    Parameters
    ----------
    p : ndarray of float, shape (n,)
        At least one.
    y : ndarray of int, shape (n,)
        0 or 1.
    """
    diagram = reliability(p, y, BINS)
    filled = diagram.count > 0
    columns = (diagram.count[filled], diagram.mean[filled], diagram.frequency[filled])
    bins, chance = with_bands(np.column_stack(columns))
    fit = fit_isotonic(p, y, smooth=False)
    recalibrated = fit.transform(p)
    climate = np.full(len(p), y.mean())
    score, best, flat = (float(np.mean((q - y) ** 2)) for q in (p, recalibrated, climate))
    return Side(
        len(p),
        ece(p, y, BINS),
        float(chance.mean()),
        float(np.quantile(chance, 0.95)),
        brier(p, y),
        log_loss(p, y),
        accuracy(p, y),
        float(p.mean()),
        float(y.mean()),
        bins,
        _stairs(p, fit.transform),
        score - best,
        flat - best,
        flat,
    )


def with_bands(bins: Floats) -> tuple[Floats, Floats]:
    """Return bins with the band of honest probabilities, and errors that these have by chance.

    Parameters
    ----------
    bins : ndarray of float, shape (m, 3)
        Count, mean probability and frequency.

    Returns
    -------
    bins : ndarray of float, shape (m, 5)
    errors : ndarray of float, shape (DRAWS,)
        Expected calibration errors.
    """
    count, mean = bins[:, 0].astype(np.int64), bins[:, 1]
    drawn = np.random.default_rng(SEED).binomial(count, mean, size=(DRAWS, len(count)))
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(drawn / count, [tail, 1.0 - tail], axis=0)
    return np.column_stack([bins, low, high]), np.abs(drawn - mean * count).sum(1) / count.sum()


def judge_bins(bins: Floats) -> Side:
    """Return how honest probabilities are of which only bins are known, as of `with_bands`."""
    full, chance = with_bands(bins)
    count, mean, frequency = bins.T
    share, unknown = count / count.sum(), float('nan')
    error = float((share * np.abs(mean - frequency)).sum())
    return Side(
        int(count.sum()),
        error,
        float(chance.mean()),
        float(np.quantile(chance, 0.95)),
        unknown,
        unknown,
        unknown,
        float((share * mean).sum()),
        float((share * frequency).sum()),
        full,
        np.empty((0, 2)),
        unknown,
        unknown,
        unknown,
    )


def _stairs(p: Floats, fit: Callable[[Floats], Floats]) -> Floats:
    """Return the corners of the isotonic fit where there are samples."""
    ends = np.unique(p)
    values = fit(ends)
    edges = np.flatnonzero(np.diff(values)) + 1
    starts = np.concatenate([[0], edges])
    stops = np.concatenate([edges, [len(ends)]]) - 1
    corners = [(ends[i], values[i]) for pair in zip(starts, stops) for i in dict.fromkeys(pair)]
    return np.array(corners)


def windows(count: int) -> list[slice]:
    """Return stretches of nearly equal numbers of samples, in order."""
    number = max(1, min(WINDOWS, count // FEWEST))
    edges = np.linspace(0, count, number + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def decision_cost(p: Floats, y: Integers, ratio: float) -> tuple[float, Integers]:
    """Return the mean cost of the decisions, and the decisions.

    Parameters
    ----------
    p, y
        As of `judge`.
    ratio : float
        What a false positive costs, where a false negative costs 1.
    """
    decided = (p > ratio / (1.0 + ratio)).astype(np.int64)
    wrong_yes, wrong_no = (decided == 1) & (y == 0), (decided == 0) & (y == 1)
    return float((ratio * wrong_yes + wrong_no).mean()), decided


def raw_threshold(predict: Callable[[float], float], wanted: float) -> float | None:
    """Return the raw probability from which on the map says at least what is wanted.

    Parameters
    ----------
    predict : callable
        The map; it is looked at on a grid of a thousandth.
    wanted : float
        The calibrated probability.

    Returns
    -------
    float or None
        None where it never does, or falls below it again.

    Examples
    --------
    >>> round(raw_threshold(lambda p: p / 2, 0.25), 6)
    0.5
    """
    grid = np.linspace(0.0, 1.0, 1001).tolist()
    enough = [predict(p) >= wanted for p in grid]
    if not enough[-1]:
        return None
    first = len(enough) - enough[::-1].index(False) if False in enough else 0
    if True in enough[:first]:
        return None
    if first == 0:
        return 0.0
    low, high = grid[first - 1], grid[first]
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if predict(middle) >= wanted else (middle, high)
    return high
