# SPDX-License-Identifier: Apache-2.0
"""Values for tests that go over the table of parameters."""

from __future__ import annotations

import math

from calib_node.core.calibrators import default_parameters
from calib_node.stream.parameters import Spec
from calib_node.stream.settings import Settings
from calib_node.stream.table import OF_METHODS, TABLE

OF_OPS = Settings.from_mapping({}).calibrator
OF_OTHER_METHODS = [spec for spec in OF_METHODS if spec.of_method not in OF_OPS]
LIVE = [spec for spec in TABLE if spec.live and spec not in OF_OTHER_METHODS]
AT_START = [spec for spec in TABLE if not spec.live]
NUMBERS = [spec for spec in TABLE if type(spec.default) in (int, float)]


def names_of_method(method: str) -> dict[str, str]:
    """Return the parameters that a method has: the full name by the method's own name."""
    own = default_parameters(method)
    return {spec.of_method: spec.name for spec in OF_METHODS if spec.of_method in own}


def other(spec: Spec):
    """Return a valid value that is not the default."""
    if spec.items:
        return tuple(spec.items(number) for number in range(3, 3 + (spec.length or 1)))
    if spec.choices:
        return next(choice for choice in spec.choices if choice != spec.default)
    if isinstance(spec.default, bool):
        return not spec.default
    if isinstance(spec.default, str):
        return 'another'
    if isinstance(spec.default, int):
        return spec.default + 1
    return next(v for v in (spec.default / 2, 0.25) if v != spec.default and v in spec.limits)


def wrong_type(spec: Spec):
    """Return a value of another type than the parameter's."""
    return 1 if isinstance(spec.default, str) else 'text'


def outside(spec: Spec) -> list:
    """Return the nearest values outside each end of the range, and what is no number at all."""
    limits, kind = spec.limits, type(spec.default)
    values = []
    if limits.low > -math.inf:
        values.append(kind(limits.low) if limits.low_open else step(kind(limits.low), -1))
    if limits.high < math.inf:
        values.append(kind(limits.high) if limits.high_open else step(kind(limits.high), 1))
    if kind is float:
        values += [math.nan, math.inf, -math.inf]
    return values


def edges(spec: Spec) -> list:
    """Return the least and the greatest value that a parameter may have."""
    limits, kind = spec.limits, type(spec.default)
    values = []
    if limits.low > -math.inf:
        values.append(step(kind(limits.low), 1) if limits.low_open else kind(limits.low))
    if limits.high < math.inf:
        values.append(step(kind(limits.high), -1) if limits.high_open else kind(limits.high))
    return values


def step(value, direction: int):
    """Return the next number of the kind of `value`."""
    if isinstance(value, int):
        return value + direction
    return math.nextafter(value, direction * math.inf)
