# SPDX-License-Identifier: Apache-2.0
"""Methods side by side: scores of each, and how sure the best is the best."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Any, NamedTuple

from calib_node.core.metrics.streamed import StreamedScores, streamed_scores

FEWEST_BLOCKS = 10
"""With fewer blocks no interval is told."""
LEVEL = 0.95
RAW = 'raw'


class Interval(NamedTuple):
    """A confidence interval of a mean difference.

    Attributes
    ----------
    mean, low, high : float
    """

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether it leaves 0 out."""
        return self.low > 0.0 or self.high < 0.0


class Comparison:
    """Scores of the raw probabilities and of several methods over the same matches.

    Parameters
    ----------
    names : sequence of str
        Of the methods.
    classes : int
        Number of probabilities in a forecast.
    costs : tuple of float
        Of a false positive and a false negative; () where none were given.

    Attributes
    ----------
    scores : dict of str to StreamedScores
        By name, those of the raw probabilities first.
    rates : dict of str to float
        Samples a second of each method, where that was measured.
    notes : dict of str to str
        What is to be said of a method.
    """

    def __init__(self, names: Sequence[str], classes: int, costs: tuple[float, ...] = ()) -> None:
        self.classes, self.costs = classes, costs
        self.scores = {name: streamed_scores(classes, *costs) for name in (RAW, *names)}
        self.rates: dict[str, float] = {}
        self.notes: dict[str, str] = {}
        self._adders = [scores.add for scores in self.scores.values()]

    def __call__(self, y: int, raw: Any, forecasts: Any) -> None:
        """Take in a label with the raw probability and the forecasts made of it."""
        given = (raw, *forecasts)
        if self.classes > 1:
            given = tuple(p if isinstance(p, list) else p.tolist() for p in given)
        for add, p in zip(self._adders, given):
            add(p, y)

    @property
    def count(self) -> int:
        """Number of matches."""
        return self.scores[RAW].count

    @property
    def best(self) -> str:
        """The name of the lowest log-loss; that of the first where several have it."""
        found: dict[str, StreamedScores] = self.scores
        return min(found, key=lambda name: found[name].log_loss)

    def difference(self, name: str, other: str) -> Interval | None:
        """Return by how much the log-loss of one is above that of another, or None for too few."""
        return difference(self.scores[name], self.scores[other])

    def merge(self, other: Comparison) -> None:
        """Take in another, of matches that came later."""
        for own, its in zip(self.scores.values(), other.scores.values()):
            own.merge(its)

    def rows(self) -> list[list[str]]:
        """Return the table, its header first."""
        costs = ['cost'] if self.costs else []
        header = ['method', 'log-loss', 'Brier', 'ECE', 'by chance', 'accuracy', *costs]
        rows = [[*header, 'samples/s', 'above the best (95 %)']]
        best = self.best if self.count else ''
        for name, scores in self.scores.items():
            figures = [scores.log_loss, scores.brier, scores.ece, scores.ece_noise]
            figures += [scores.accuracy, *([scores.cost] if costs else [])]
            rate = self.rates.get(name)
            rows.append(
                [
                    f'{name} *' if name == best else name,
                    *('-' if isnan(figure) else f'{figure:.4f}' for figure in figures),
                    '' if rate is None else f'{rate:,.0f}',
                    '' if name == best else self._shown(name, best),
                ]
            )
        return rows

    def _shown(self, name: str, best: str) -> str:
        found = self.difference(name, best) if best else None
        if found is None:
            return ''
        clear = '' if found.is_clear else ', not clear'
        return f'{found.mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}]{clear}'

    def lines(self) -> list[str]:
        """Return the table as aligned text, and a sentence on what it shows."""
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            '  '.join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        ]
        lines += [f'{name}: {note}' for name, note in self.notes.items() if note]
        return [*lines, self.verdict()] if self.count else [*lines, 'no match, so no score']

    def verdict(self) -> str:
        """Return in a sentence which is the best, and how sure that is."""
        best = self.best
        others = [name for name in self.scores if name not in (best, RAW)]
        unclear = []
        for name in others:
            found = self.difference(name, best)
            if found is None or not found.is_clear:
                unclear.append(name)
        against = self.difference(RAW, best)
        if best == RAW:
            return (
                '* lowest log-loss: the raw probabilities, so nothing that was tried makes them '
                'better here'
            )
        if against is None:
            sure = 'too few matches to say how sure that is'
        elif against.is_clear:
            sure = 'better than raw beyond chance'
        else:
            sure = 'not clearly better than raw'
        same = f'; {", ".join(unclear)} may be as good' if unclear else ''
        return f'* lowest log-loss: {best}, {sure}{same}'


def difference(one: StreamedScores, other: StreamedScores) -> Interval | None:
    """Return by how much the mean log-loss of one is above that of another.

    The interval is that of the means of contiguous blocks, by Student's distribution, so that it
    holds for samples that depend on their neighbours, as long as a block is long against that.

    Parameters
    ----------
    one, other : StreamedScores
        Over the same samples.

    Returns
    -------
    Interval or None
        None for too few samples.
    """
    blocks, size = one.losses.sums, one.losses.size
    if len(blocks) < FEWEST_BLOCKS:
        return None
    means = [(a - b) / size for a, b in zip(blocks, other.losses.sums)]
    mean = one.log_loss - other.log_loss
    half = student(len(means) - 1) * stdev(means) / sqrt(len(means))
    middle = fmean(means)
    return Interval(mean, middle - half, middle + half)


def student(freedom: int, level: float = LEVEL) -> float:
    """Return the quantile of Student's distribution for a two-sided interval.

    By the expansion of Cornish and Fisher around the normal one, which is right to three digits
    from nine degrees of freedom on (Abramowitz and Stegun, 26.7.5).

    Examples
    --------
    >>> round(student(9), 3), round(student(60), 3)
    (2.262, 2.0)
    """
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + first / freedom + second / freedom**2 + third / freedom**3
