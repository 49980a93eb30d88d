# SPDX-License-Identifier: Apache-2.0
"""Ranges of numbers, and the sentence that refuses a value outside one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from calib_node.core.refusal import brief


@dataclass(frozen=True)
class Interval:
    """A range of finite numbers, each end open or closed.

    Parameters
    ----------
    low, high : float
        The ends; either may be infinite.
    low_open, high_open : bool
        Whether the end itself is outside.
    whole : bool
        Whether only whole numbers are inside.

    Examples
    --------
    >>> positive = Interval(0.0, low_open=True)
    >>> str(positive)
    '> 0'
    >>> -1.0 in positive, float('inf') in positive
    (False, False)
    >>> str(Interval(1e-9, 0.5, high_open=True))
    '>= 1e-09 and < 0.5'
    """

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    whole: bool = False

    def __contains__(self, value: float) -> bool:
        if not math.isfinite(value) or (self.whole and value != int(value)):
            return False
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def __str__(self) -> str:
        ends = []
        if self.low != -math.inf:
            ends.append(f'{">" if self.low_open else ">="} {self.low:g}')
        if self.high != math.inf:
            ends.append(f'{"<" if self.high_open else "<="} {self.high:g}')
        return ' and '.join(ends) or 'a finite number'


POSITIVE = Interval(0.0, low_open=True)

SUM_TOLERANCE = 1e-3
"""How far from 1 the sum of a sample's probabilities may be: half precision rounds off."""


def as_float(value: object) -> float:
    """Return a number, numpy's too, as a float; NaN for all else, and for an int too large."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_number(name: str, value: object, limits: Interval) -> float:
    """Return `value` as a float, or as an int where only whole numbers are allowed.

    Raises
    ------
    ValueError
        If it is not a number within `limits`.
    """
    number = as_float(value)
    if number not in limits:
        kind = 'a whole number ' if limits.whole else ''
        raise ValueError(f'{name} must be {kind}{limits}, not {brief(value)}')
    return int(number) if limits.whole else number
