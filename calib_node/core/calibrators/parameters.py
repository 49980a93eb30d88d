# SPDX-License-Identifier: Apache-2.0
"""The range of each parameter of the methods, whatever the method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from calib_node.core.ranges import Interval, check_number
from calib_node.core.refusal import brief, nearest_name

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
    'context_capacity': Interval(1, 10_000, whole=True),
    'context_rho': Interval(0.01, 1e12),
}


def check_parameters(values: Mapping[str, object]) -> dict[str, Any]:
    """Return a method's parameters, each checked against `CALIBRATOR_LIMITS`.

    Returns
    -------
    dict of str to float, int or bool
        Python's own numbers.

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
        elif isinstance(value, bool | np.bool_):
            checked[name] = bool(value)
        else:
            raise ValueError(f'{name} must be true or false, not {brief(value)}')
    return checked


def check_names(method: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a ValueError for the first given name that is not among the known ones."""
    for name in given:
        if name not in known:
            raise ValueError(f'{method} has no parameter {name!r}{nearest_name(name, known)}')
