# SPDX-License-Identifier: Apache-2.0
"""Times and counts as an operator reads them."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

UNITS = (('s', 1_000_000_000), ('ms', 1_000_000), ('µs', 1_000), ('ns', 1))


def duration(nanoseconds: int) -> str:
    """Return a length of time in the unit that shows it.

    Examples
    --------
    >>> duration(300), duration(-12_500_000), duration(3_020_000_000), duration(0)
    ('300 ns', '12.5 ms', '3.02 s', '0 ns')
    """
    size = abs(nanoseconds)
    unit, scale = next((u for u in UNITS if size >= u[1]), UNITS[-1])
    return f'{size / scale:.4g} {unit}' if size < 10_000 * scale else f'{size / scale:.0f} {unit}'


def seconds_at_least(nanoseconds: int) -> str:
    """Return seconds, rounded up to three digits, as a parameter takes them.

    Examples
    --------
    >>> seconds_at_least(300), seconds_at_least(3_021_000_000), seconds_at_least(61_000_000_000)
    ('3e-07', '3.03', '61.0')
    """
    seconds = Decimal(abs(nanoseconds)) / 1_000_000_000
    if not seconds:
        return '0.0'
    digits = Decimal(1).scaleb(seconds.adjusted() - 2)
    return str(float(seconds.quantize(digits, rounding=ROUND_CEILING)))


def counted(number: int, of: int, things: str) -> str:
    """Return how many of the last things, with the verb.

    Examples
    --------
    >>> counted(1, 100, 'labels'), counted(56, 56, 'predictions')
    ('1 of the last 100 labels was', 'all of the last 56 predictions were')
    """
    some = 'all' if number == of else str(number)
    return f'{some} of the last {of} {things} {"was" if some == "1" else "were"}'
