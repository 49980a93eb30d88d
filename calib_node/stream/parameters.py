# SPDX-License-Identifier: Apache-2.0
"""What a parameter is: how it is declared, and the check that every value passes."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS
from calib_node.core.ranges import Interval, as_float
from calib_node.core.refusal import brief, nearest_name

Scalar = bool | int | float | str
Value = Scalar | tuple[float, ...] | tuple[str, ...]

# PyYAML, and so `ros2 param set` and launch files, makes a text of 1e-3 and of 1.0e3.
EXPONENT = re.compile(r'[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+')

SPEC = 'spec'
"""Key of a field's declaration in its metadata."""


class ParameterError(ValueError):
    """A parameter that cannot be taken; its text is one sentence for the operator."""


@dataclass(frozen=True)
class Spec:
    """The declaration of a parameter.

    Attributes
    ----------
    name, meaning, unit : str
        As the operator sees them.
    default : bool, int, float, str or tuple
        Its type is the type of the parameter; of a list see `items`.
    live : bool
        Whether it can change while the node runs.
    limits : Interval or None
        Range of a number.
    choices : tuple of str
        The values a string may have beside the default; empty: any.
    of_method : str
        The calibration methods' own name of it; empty: it is no parameter of a method.
    items : type or None
        Of a list, float or str; None: it is no list.
    length : int or None
        How many items a list has; None: any number.
    """

    name: str
    default: Value
    meaning: str
    unit: str = ''
    live: bool = True
    limits: Interval | None = None
    choices: tuple[str, ...] = ()
    of_method: str = ''
    items: type[float] | type[str] | None = None
    length: int | None = None

    @property
    def range(self) -> str:
        """The values it may have, in words."""
        if self.items:
            things = 'numbers' if self.items is float else 'texts'
            return f'{self.length} {things}' if self.length else f'a list of {things}'
        if self.choices:
            return ', '.join(self.choices)
        if isinstance(self.default, bool):
            return 'true, false'
        return str(self.limits) if self.limits else 'any text'

    def check(self, value: object) -> Value:
        """Return `value` in the type of the parameter.

        For a float an integer will do, and a text such as 1e-3; for a text in a list a number or a
        truth value. An empty list may come as None, which is what rclpy makes of it.

        Raises
        ------
        ParameterError
            If it is of another type or out of range.
        """
        if self.items:
            return self._checked_list(value)
        kind = type(self.default)
        if kind is float:
            number = _as_number(value)
            if self.limits is None or number in self.limits:
                return number
            raise self._refused(f'a number {self.limits}', value)
        if kind is int:
            if type(value) is int and (self.limits is None or value in self.limits):
                return value
            raise self._refused(f'a whole number {self.limits}', value)
        if isinstance(value, bool) and kind is bool:
            return value
        if not isinstance(value, str) or kind is bool:
            raise self._refused(
                'true or false' if kind is bool else 'a text (within quotes)', value
            )
        if self.choices and value not in self.choices and value != self.default:
            hint = nearest_name(value, self.choices)
            raise self._refused(f'one of {self.range}', value, hint)
        return value

    def _checked_list(self, value: object) -> Value:
        given = [] if value is None else value
        wanted = f'{self.range}, such as {EXAMPLE if self.items is str else EXAMPLE_NUMBERS}'
        if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, array)):
            raise self._refused(wanted, value)
        if self.length not in (None, len(given)):
            raise self._refused(wanted, None if value is None else list(given))
        if self.items is str:
            texts = [_as_text(item) for item in given]
            found = tuple(text for text in texts if text is not None)
            if len(found) == len(texts):
                return found
        else:
            numbers = tuple(_as_number(item) for item in given)
            if all(map(math.isfinite, numbers)):
                return numbers
        raise self._refused(wanted, list(given))

    def _refused(self, wanted: str, value: object, hint: str = '') -> ParameterError:
        # None is what rclpy makes of an empty list too.
        shown = 'an empty value' if value is None else brief(value)
        return ParameterError(f'{self.name} must be {wanted}, not {shown}{hint}')


EXAMPLE, EXAMPLE_NUMBERS = '["a", "b"]', '[0.0, 1.0]'


def _as_number(value: object) -> float:
    if isinstance(value, str) and EXPONENT.fullmatch(value):
        return float(value)
    return as_float(value)


def _as_text(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else None


def parameter(
    default: Value,
    meaning: str,
    unit: str = '',
    live: bool = True,
    limits: Interval | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Return the field of a dataclass that declares a parameter; the field's name is its own."""
    spec = Spec('', default, meaning, unit, live, limits, choices)
    return field(default=default, metadata={SPEC: spec})


def of_method(name: str, default: Value, live: bool, meaning: str) -> Spec:
    """Declare a parameter of calibration methods, whose ranges are theirs."""
    own_name = name.rpartition('.')[2]
    limits = CALIBRATOR_LIMITS[own_name]
    return Spec(name, default, meaning, live=live, limits=limits, of_method=own_name)


def listed(
    default: tuple[float, ...] | tuple[str, ...],
    items: type[float] | type[str],
    meaning: str,
    length: int | None = None,
) -> Any:
    """Return the field of a dataclass that declares a list, which is read at the start only."""
    spec = Spec('', default, meaning, live=False, items=items, length=length)
    return field(default=default, metadata={SPEC: spec})
