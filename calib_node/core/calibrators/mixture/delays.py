# SPDX-License-Identifier: Apache-2.0
"""How late labels come."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque

WINDOW = 100


class Delays:
    """The running median of the last delays.

    Parameters
    ----------
    values : list of int
        Delays to begin with, oldest first.

    Examples
    --------
    >>> delays = Delays([0, 3])
    >>> delays.median, delays.add(7)
    (1.5, 3.0)
    """

    def __init__(self, values: list[int] | None = None) -> None:
        self._last = deque(values or [], WINDOW)
        self._sorted = sorted(self._last)

    @property
    def values(self) -> list[int]:
        """The last delays, oldest first."""
        return list(self._last)

    @property
    def median(self) -> float:
        """Their median; 0 while there is none."""
        ordered = self._sorted
        n = len(ordered)
        return 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2]) if n else 0.0

    def add(self, delay: int) -> float:
        """Take in a delay and return the new median."""
        if len(self._last) == WINDOW:
            del self._sorted[bisect_left(self._sorted, self._last[0])]
        self._last.append(delay)
        insort(self._sorted, delay)
        return self.median
