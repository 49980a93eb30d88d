# SPDX-License-Identifier: Apache-2.0
"""Samples put into bins of equal width or equal mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.metrics.checks import Floats, Integers, check_bins, check_samples
from calib_node.core.refusal import brief, nearest_name

Binning = Literal['equal_width', 'equal_mass']
Closed = Literal['left', 'right']


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram in numbers, one entry per bin.

    Attributes
    ----------
    count : ndarray of int, shape (bins,)
        Samples in the bin.
    mean : ndarray of float, shape (bins,)
        Mean probability; NaN where the bin is empty.
    frequency : ndarray of float, shape (bins,)
        Share of positive labels; NaN where the bin is empty.
    """

    count: Integers
    mean: Floats
    frequency: Floats

    @property
    def gap(self) -> Floats:
        """Absolute difference of mean probability and frequency, 0 where the bin is empty."""
        return np.where(self.count > 0, np.abs(self.mean - self.frequency), 0.0)

    @property
    def weight(self) -> Floats:
        """Share of the samples that are in the bin."""
        return self.count / np.sum(self.count)


def _check_choice(name: str, value: str, choices: tuple[str, str]) -> None:
    if value not in choices:
        first, second = choices
        hint = nearest_name(value, choices) if isinstance(value, str) else ''
        raise ValueError(f'{name} must be {first!r} or {second!r}, not {brief(value)}{hint}')


def equal_width_index(p: Floats, bins: int, closed: Closed = 'left') -> Integers:
    """Return the equal-width bin of each probability, 0 to `bins` - 1.

    Parameters
    ----------
    p : ndarray of float, shape (n,)
        Probabilities.
    bins : int
        Number of bins.
    closed : {'left', 'right'}
        See `reliability`.

    Returns
    -------
    ndarray of int, shape (n,)

    Examples
    --------
    >>> p = np.array([0.0, 0.5, 1.0])
    >>> equal_width_index(p, 2).tolist(), equal_width_index(p, 2, closed='right').tolist()
    ([0, 1, 1], [0, 0, 1])
    """
    if closed == 'left':
        return np.minimum((p * bins).astype(np.int64), bins - 1)
    return np.searchsorted(np.arange(1, bins) / bins, p, side='left').astype(np.int64)


def equal_mass_edges(samples: int, bins: int, first: int = 0, last: int | None = None) -> Integers:
    """Return where the bins `first` to `last` begin and end among sorted samples.

    Sizes differ by 1 at most, and the larger bins come first. With more bins than samples the last
    bins are empty.

    Returns
    -------
    ndarray of int, shape (last - first + 2,)
        Places among the samples, from 0 to `samples`.

    Examples
    --------
    >>> equal_mass_edges(8, 3).tolist()
    [0, 3, 6, 8]
    """
    size, larger = divmod(samples, bins)
    bin_of_edge = np.arange(first, (bins if last is None else last + 1) + 1)
    return bin_of_edge * size + np.minimum(bin_of_edge, larger)


def whole_ties(p: Floats) -> Integers:
    """Return where a cut between sorted samples is made, so that none falls within a tie.

    Samples of the same probability belong together: their order says nothing. A tie lies whole in
    the bin that its middle sample falls into, the lower of two; that is, a cut moves to the nearer
    end of the tie.

    Parameters
    ----------
    p : ndarray of float, shape (n,)
        Probabilities in order.

    Returns
    -------
    ndarray of int, shape (n + 1,)
        For a cut before each sample and for one after the last, the place where it is made. It
        never decreases.

    Examples
    --------
    >>> whole_ties(np.array([0.2, 0.5, 0.5, 0.5, 0.5])).tolist()
    [0, 1, 1, 5, 5, 5]
    """
    samples = len(p)
    start = np.flatnonzero(np.diff(p, prepend=-1.0))
    end = np.append(start[1:], samples)
    of_tie = end - start
    place, middle = np.arange(samples), np.repeat((start + end - 1) // 2, of_tie)
    moved = np.where(place > middle, np.repeat(end, of_tie), np.repeat(start, of_tie))
    return np.append(moved, samples)


@dataclass(frozen=True)
class Binned:
    """Samples with the bin of each.

    Attributes
    ----------
    p, y : ndarray of float, shape (n,)
        Probabilities and labels, in no particular order.
    index : ndarray of int, shape (n,)
        Bin of each sample.
    bins : int
        Number of bins.
    """

    p: Floats
    y: Floats
    index: Integers
    bins: int

    def diagram(self) -> Reliability:
        """Return count, mean probability and frequency of each bin.

        Returns
        -------
        Reliability
        """
        count = np.bincount(self.index, minlength=self.bins)
        with np.errstate(invalid='ignore'):
            mean = np.bincount(self.index, self.p, self.bins) / count
            frequency = np.bincount(self.index, self.y, self.bins) / count
        return Reliability(count, mean, frequency)


def put_into_bins(
    p: ArrayLike,
    y: ArrayLike,
    bins: int,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> Binned:
    """Check samples and put them into bins; see `reliability` for the arguments.

    Returns
    -------
    Binned

    Examples
    --------
    >>> put_into_bins([0.2, 0.9, 0.3, 0.1], [0, 1, 1, 0], 2, 'equal_mass').index.tolist()
    [0, 0, 1, 1]
    """
    probabilities, labels = check_samples(p, y)
    bins = check_bins(bins)
    _check_choice('binning', binning, ('equal_width', 'equal_mass'))
    _check_choice('closed', closed, ('left', 'right'))
    if binning == 'equal_width':
        index = equal_width_index(probabilities, bins, closed)
        return Binned(probabilities, labels, index, bins)
    if closed != 'left':
        raise ValueError("closed='right' is for equal_width: equal_mass bins have no fixed edges")
    # By the label too, so that sums do not depend on the order of the samples in the last bit.
    order = np.lexsort((labels, probabilities))
    probabilities, labels = probabilities[order], labels[order]
    size = np.diff(whole_ties(probabilities)[equal_mass_edges(len(labels), bins)])
    return Binned(probabilities, labels, np.repeat(np.arange(bins), size), bins)


def reliability(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> Reliability:
    """Count, mean probability and frequency in each of `bins` bins.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities of the positive class.
    y : array_like of int, shape (n,)
        Labels, 0 or 1.
    bins : int
        Number of bins, from 1 to 10 million.
    binning : {'equal_width', 'equal_mass'}
        ``equal_width`` cuts [0, 1] into `bins` intervals. ``equal_mass`` cuts the sorted samples
        into `bins` parts whose sizes differ by 1 at most, but for ties: equal probabilities lie
        whole in one bin, that of the middle one of them (`whole_ties`), so that the order of the
        samples is of no account. Bins may be empty then.
    closed : {'left', 'right'}
        Which of two equal-width bins has a probability on the edge between them. ``left``, the
        default and what a rolling window does, is bin ``min(floor(p bins), bins - 1)`` with the
        product in floating point. ``right`` puts it into the lower bin, as in the experiments of
        Gupta and Ramdas, *Online Platt scaling with calibeating*, ICML 2023 (with 10 bins). Both
        put 0 into the first and 1 into the last.

    Returns
    -------
    Reliability

    Raises
    ------
    ValueError
        If the samples cannot be scored (see `check_samples`), `bins` is not from 1 to 10 million,
        or there is no such binning.

    Examples
    --------
    >>> diagram = reliability([0.1, 0.1, 0.9], [0, 1, 1], bins=2)
    >>> diagram.count.tolist(), diagram.frequency.tolist()
    ([2, 1], [0.5, 1.0])
    """
    return put_into_bins(p, y, bins, binning, closed).diagram()
