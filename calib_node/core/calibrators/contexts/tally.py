# SPDX-License-Identifier: Apache-2.0
"""How well the forecasts of one context have done."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

from calib_node.core.calibrators.contexts.known import Context
from calib_node.core.metrics.scores import LOG_LOSS_CLIP
from calib_node.core.ranges import Interval
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

BINS = 10
"""Few, for contexts are many and their labels few."""

LARGEST_LOSS = -log(LOG_LOSS_CLIP)


@dataclass(frozen=True, slots=True)
class ContextFigures:
    """Figures of one context since the last reset.

    Attributes
    ----------
    context : tuple
        Value of each context variable; empty: all contexts beyond the capacity.
    count : int
        Labels learned.
    ece : float
        Calibration error of the forecasts as issued, in `BINS` bins of equal width; of many
        classes that of the likeliest.
    log_loss : float
        Mean log-loss of the forecasts as issued.
    offset : float or None
        What the context adds to the logit (temperature of many classes: to 1 / T); None where
        the method has none.
    share : float or None
        Weight of the context's own calibrator beside the shared one; None where it has none.
    """

    context: Context
    count: int
    ece: float
    log_loss: float
    offset: float | None
    share: float | None


class Tally:
    """Sums over the forecasts of one context.

    Examples
    --------
    >>> tally = Tally()
    >>> for y in (1, 1, 0, 0):
    ...     tally.add(0.9, y, 0.9 if y else 0.1)
    >>> tally.count, round(tally.ece, 3), round(tally.log_loss, 3)
    (4, 0.4, 1.204)
    """

    __slots__ = ('_bins', 'count', 'loss')

    def __init__(self) -> None:
        self.count = 0
        self.loss = 0.0
        # Of each bin the count, the sum of the forecasts and the number of hits.
        self._bins: list[list[Any]] = [[0, 0.0, 0] for _ in range(BINS)]

    def add(self, q: float, hit: int, likelihood: float) -> None:
        """Take in a forecast `q`, whether it came true, and the probability of what came."""
        self.count += 1
        self.loss -= log(min(max(likelihood, LOG_LOSS_CLIP), 1.0 - LOG_LOSS_CLIP))
        row = self._bins[min(int(q * BINS), BINS - 1)]
        row[0] += 1
        row[1] += q
        row[2] += hit

    @property
    def ece(self) -> float:
        """Calibration error; 0 where there is none yet."""
        gaps = sum(abs(total - hits) for _, total, hits in self._bins)
        return float(gaps / max(self.count, 1))

    @property
    def log_loss(self) -> float:
        """Mean log-loss; 0 where there is none yet."""
        return self.loss / max(self.count, 1)

    def state(self) -> dict[str, Any]:
        """Return the sums, without the bins that are empty."""
        rows = [[index, *row] for index, row in enumerate(self._bins) if row[0]]
        return {'loss': self.loss, 'bins': rows}

    @classmethod
    def restored(cls, state: Any) -> Tally:
        """Return the tally that a state was saved of.

        Raises
        ------
        StateError
            If it is none.
        """
        if not isinstance(state, dict):
            raise StateError(f'a tally must be a table, not {brief(state)}')
        tally = cls()
        for values in fields.rows(state, 'bins', (None, 4), fields.NON_NEGATIVE):
            index, count, total, hits = values
            whole = index == int(index) and count == int(count) and hits == int(hits)
            if not whole or index >= BINS or not 0 < count < fields.COUNTABLE:
                raise StateError(f'a row of bins must be a bin and its counts, not {brief(values)}')
            if hits > count or not total <= count * (1.0 + 1e-9):
                raise StateError(f'a row of bins holds more than its count, {brief(values)}')
            row = tally._bins[int(index)]
            if row[0]:
                raise StateError(f'bins must not hold bin {int(index)} twice')
            row[:] = int(count), total, int(hits)
            tally.count += row[0]
        most = Interval(0.0, LARGEST_LOSS * tally.count * (1.0 + 1e-9))
        tally.loss = fields.finite(state, 'loss', most)
        return tally
