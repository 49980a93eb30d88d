# SPDX-License-Identifier: Apache-2.0
"""The range of each numeric parameter, and the sentence that refuses a value outside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from reprlib import Repr
from typing import Any


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return ``', did you mean …?'`` for a misspelt name, or an empty string."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f', did you mean {close[0]!r}?' if close else ''


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

Parameter = bool | int | float

# One range a name, whatever the method; None stands for true or false. Wider than any use, and
# narrow enough for double precision: the logit of 1 - clip is finite, and the matrix stays
# positive definite though rounding gnaws at rho.
CALIBRATOR_LIMITS: dict[str, Interval | None] = {
    'gamma': Interval(1e-12, 1e12),
    'rho': Interval(0.01, 1e12),
    'radius': Interval(1e-6, 1e12),
    'clip': Interval(1e-9, 0.5, high_open=True),
    'forgetting': Interval(0.0, 1.0, low_open=True),
    'bins': Interval(2, 1000, whole=True),
    'pseudo_count': Interval(0.0, 1e6),
    'seed': Interval(0, 2**32 - 1, whole=True),
    'window': Interval(10, 1_000_000, whole=True),
    'refit_every': Interval(1, 1_000_000, whole=True),
    'smooth': None,
    'interpolate': None,
    'averaging': None,
    'spring': None,
    'auto': None,
    'warmup': Interval(1, 1_000_000, whole=True),
}


_brief = Repr()
_brief.maxlevel = 2


def brief(value: object) -> str:
    """Return the repr of a value that may be anything, short enough for a sentence."""
    return _brief.repr(value)


def as_float(value: object) -> float:
    """Return an int or a float as a float; NaN for anything else, and for an int too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
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


def check_parameters(values: Mapping[str, object]) -> dict[str, Any]:
    """Return a method's parameters, each checked against `CALIBRATOR_LIMITS`.

    Raises
    ------
    ValueError
        For the first one that is not within its range.
    """
    checked: dict[str, Any] = {}
    for name, value in values.items():
        limits = CALIBRATOR_LIMITS[name]
        if limits is not None:
            checked[name] = check_number(name, value, limits)
        elif isinstance(value, bool):
            checked[name] = value
        else:
            raise ValueError(f'{name} must be true or false, not {brief(value)}')
    return checked


def check_names(method: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a ValueError for the first given name that is not among the known ones."""
    for name in given:
        if name not in known:
            raise ValueError(f'{method} has no parameter {name!r}{nearest_name(name, known)}')


def bad_probability(p: float) -> ValueError:
    """Return the error for a probability outside [0, 1]."""
    return ValueError(f'a probability must be within [0, 1], not {p!r}')


def bad_label(y: object) -> ValueError:
    """Return the error for a label that is neither 0 nor 1."""
    return ValueError(f'a label must be 0 or 1, not {y!r}')
