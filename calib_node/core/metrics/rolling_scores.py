# SPDX-License-Identifier: Apache-2.0
"""Scores of the last matches, of what came in and of what was published for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from calib_node.core.samples import Match, P

# Between two messages a processor forgets the code of the last, so that a batch costs little more
# than one sample; the scores are read far more seldom than samples come.
SCORED_AT_ONCE = 32

In = TypeVar('In', contravariant=True)


class RollingWindow(Protocol[In]):
    """Scores of the last samples, as in `RollingReliability`."""

    @property
    def bins(self) -> int:
        """Equal-width bins of the ECE."""

    @property
    def window(self) -> int:
        """Number of samples kept."""

    @property
    def count(self) -> int:
        """Samples in the window."""

    def add(self, p: In, y: int, /) -> None:
        """Take in a sample and its label."""

    def ece(self) -> float:
        """Expected calibration error."""

    def brier(self) -> float:
        """Brier score."""

    def log_loss(self) -> float:
        """Log-loss."""

    def table(self) -> list[tuple[int, float, float]]:
        """Count, mean probability and frequency per bin; NaN twice where the bin is empty."""


class RollingScores(Generic[P]):
    """Scores the matches that it is called with, raw and calibrated.

    A match that cannot be scored spoils no other; `error` tells of it.

    Parameters
    ----------
    make : callable
        Makes an empty window of so many bins and samples, such as `RollingReliability`.
    bins, window : int
        Of the windows.

    Examples
    --------
    >>> from calib_node.core.metrics.rolling import RollingReliability
    >>> scores = RollingScores(RollingReliability, bins=15, window=1000)
    >>> scores(Match(stamp=1, key='', context=(), raw=0.9, published=0.6, label=1))
    >>> round(scores.raw.ece(), 6), round(scores.calibrated.ece(), 6)
    (0.1, 0.4)
    """

    def __init__(
        self, make: Callable[[int, int], RollingWindow[P]], bins: int, window: int
    ) -> None:
        self._make = make
        self.configure(bins, window)

    def restart(self) -> None:
        """Start the windows anew."""
        self.configure(self._raw.bins, self._raw.window)

    def configure(self, bins: int, window: int) -> None:
        """Start anew with other bins or another window."""
        self._error = ''
        self._waiting: list[Match[P]] = []
        self._raw = self._make(bins, window)
        self._calibrated = self._make(bins, window)

    def __call__(self, match: Match[P]) -> None:
        """Take in a match."""
        self._waiting.append(match)
        if len(self._waiting) >= SCORED_AT_ONCE:
            self._score()

    @property
    def raw(self) -> RollingWindow[P]:
        """Scores of the probabilities as they came in."""
        self._score()
        return self._raw

    @property
    def calibrated(self) -> RollingWindow[P]:
        """Scores of the probabilities as they were published."""
        self._score()
        return self._calibrated

    @property
    def error(self) -> str:
        """What went wrong with the last match that could not be scored; empty if none."""
        self._score()
        return self._error

    def _score(self) -> None:
        waiting, self._waiting = self._waiting, []
        for match in waiting:
            try:
                # What went out first: what came in has been checked, so both are added or none.
                self._calibrated.add(match.published, match.label)
                self._raw.add(match.raw, match.label)
            except Exception as error:
                self._error = f'a match could not be scored: {type(error).__name__}: {error}'
