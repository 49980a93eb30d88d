# SPDX-License-Identifier: Apache-2.0
"""How far apart the older and the newer half of the last probabilities are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf, log2

HALF = 30
"""Probabilities in each half."""
BINS = 10
SMALLEST_RANGE = 1e-12
"""Below this all probabilities count as one."""


def _term(older: int, newer: int) -> float:
    """Return what a bin of these counts, each raised by 1, adds to the divergence."""
    p, q = (older + 1) / (HALF + BINS), (newer + 1) / (HALF + BINS)
    middle = 0.5 * (p + q)
    return 0.5 * (p * log2(p / middle) + q * log2(q / middle))


# A bin with `older` and `newer` members has the code ROW * older + newer.
_ROW = HALF + 1
_TERMS = [_term(older, newer) for older in range(_ROW) for newer in range(_ROW)]
_BIN_OF_STEP = [*range(BINS), BINS - 1]
_term_of_code = _TERMS.__getitem__


class HalvesDivergence:
    """Jensen-Shannon divergence, in bits, between the halves of the last 60 probabilities.

    Both halves are counted in 10 equal bins over their joint range, with 1 added to each bin. The
    counts follow each probability; only when the range changes are the 60 counted anew.

    Parameters
    ----------
    values : iterable of float
        The probabilities to begin with, the oldest first.

    References
    ----------
    Lin, *Divergence measures based on the Shannon entropy*, IEEE Transactions on Information
    Theory 37, 1991.

    Examples
    --------
    >>> halves = HalvesDivergence([0.1] * 30 + [0.9] * 29)
    >>> round(halves.push(0.9), 4)
    0.6395
    """

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._values = deque(values, maxlen=2 * HALF)
        self._bins: deque[int] = deque(maxlen=2 * HALF)
        self._count()

    @property
    def values(self) -> list[float]:
        """The probabilities that are kept, the oldest first."""
        return list(self._values)

    def push(self, p: float) -> float:
        """Add a probability and return the divergence; 0 while there are fewer than 60.

        Returns
        -------
        float
            In bits, from 0 to 1.
        """
        values, bins = self._values, self._bins
        if len(bins) < 2 * HALF:
            values.append(p)
            self._count()
            return self._divergence() if bins else 0.0
        leaving = values[0]
        values.append(p)
        low, high = self._low, self._high
        if not (low < leaving < high and low <= p <= high) and (
            min(values) != low or max(values) != high
        ):
            self._count()
            return self._divergence()
        codes = self._codes
        codes[bins[0]] -= _ROW
        codes[bins[HALF]] += _ROW - 1
        new = _BIN_OF_STEP[int((p - low) / self._width * BINS)]
        codes[new] += 1
        bins.append(new)
        return self._divergence()

    def _divergence(self) -> float:
        return sum(map(_term_of_code, self._codes))

    def _count(self) -> None:
        """Count all members anew, once there are 60 of them."""
        values = self._values
        if len(values) < 2 * HALF:
            return
        low, high = min(values), max(values)
        # An infinite width puts all into bin 0, where equal halves do not diverge.
        width = high - low if high - low >= SMALLEST_RANGE else inf
        self._low, self._high, self._width = low, high, width
        bins = [_BIN_OF_STEP[int((p - low) / width * BINS)] for p in values]
        self._bins.extend(bins)
        codes = self._codes = [0] * BINS
        for number in bins[:HALF]:
            codes[number] += _ROW
        for number in bins[HALF:]:
            codes[number] += 1
