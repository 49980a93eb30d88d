# SPDX-License-Identifier: Apache-2.0
"""The one table of parameters: declarations, checks, config/calib.yaml and README follow it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS
from calib_node.core.matching import POLICIES
from calib_node.core.ranges import POSITIVE, Interval, as_float
from calib_node.core.refusal import nearest_name

NOT_NEGATIVE = Interval(0.0)
PERIOD = Interval(0.01, 86400.0)
COUNT = Interval(1, 1_000_000)

Value = bool | int | float | str

# PyYAML, and so `ros2 param set` and launch files, makes a text of 1e-3 and of 1.0e3.
EXPONENT = re.compile(r'[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+')


class ParameterError(ValueError):
    """A parameter that cannot be taken; its text is one sentence for the operator."""


@dataclass(frozen=True)
class Spec:
    """A row of the table.

    Attributes
    ----------
    name, default, meaning, unit : str
        As the operator sees them; the type of `default` is the type of the parameter.
    live : bool
        Whether it can change while the node runs.
    limits : Interval or None
        Range of a number.
    choices : tuple of str
        The values a string may have; empty: any.
    of_method : str
        The calibration methods' own name of it; empty: it is no parameter of a method.
    """

    name: str
    default: Value
    meaning: str
    unit: str = ''
    live: bool = True
    limits: Interval | None = None
    choices: tuple[str, ...] = ()
    of_method: str = ''

    @property
    def range(self) -> str:
        """The values it may have, in words."""
        if self.choices:
            return ', '.join(self.choices)
        if isinstance(self.default, bool):
            return 'true, false'
        return str(self.limits) if self.limits else 'any text'

    def as_declared(self, value: Any) -> Any:
        """Return an integer, or a text such as 1e-3, that was given for a float as the float."""
        if isinstance(self.default, float):
            if isinstance(value, str) and EXPONENT.fullmatch(value):
                return float(value)
            if type(value) is int:
                return as_float(value)
        return value

    def check(self, value: Any) -> Value:
        """Return `value` in the type of the parameter, as `as_declared` makes it.

        Raises
        ------
        ParameterError
            If it is of another type or out of range.
        """
        kind = type(self.default)
        if kind is float:
            number = as_float(self.as_declared(value))
            if self.limits is None or number in self.limits:
                return number
            raise ParameterError(f'{self.name} must be a number {self.limits}, not {value!r}')
        if kind is int:
            if type(value) is int and (self.limits is None or value in self.limits):
                return value
            raise ParameterError(f'{self.name} must be a whole number {self.limits}, not {value!r}')
        if type(value) is not kind:
            wanted = 'true or false' if kind is bool else 'a text (within quotes)'
            raise ParameterError(f'{self.name} must be {wanted}, not {value!r}')
        if self.choices and value not in self.choices:
            hint = nearest_name(str(value), self.choices)
            raise ParameterError(f'{self.name} must be one of {self.range}, not {value!r}{hint}')
        checked: Value = value
        return checked

    def descriptor(self) -> ParameterDescriptor:
        """Return what `ros2 param describe` shows."""
        descriptor = ParameterDescriptor(
            description=f'{self.meaning}{f" ({self.unit})" if self.unit else ""}',
            additional_constraints=self.range,
            read_only=not self.live,
        )
        if self.limits is not None and max(abs(self.limits.low), self.limits.high) < 1e9:
            # A range cannot say that an end is open; check() sees to that.
            low, high = self.limits.low, self.limits.high
            if isinstance(self.default, float):
                descriptor.floating_point_range = [
                    FloatingPointRange(from_value=float(low), to_value=float(high))
                ]
            else:
                descriptor.integer_range = [
                    IntegerRange(from_value=int(low), to_value=int(high), step=1)
                ]
        return descriptor


def _method(name: str, default: Value, meaning: str) -> Spec:
    own_name = name.rpartition('.')[2]
    live = not any(own_name in method.fixed for method in CALIBRATORS.values())
    limits = CALIBRATOR_LIMITS[own_name]
    return Spec(name, default, meaning, live=live, limits=limits, of_method=own_name)


def _input(side: str, what: str) -> tuple[Spec, ...]:
    return (
        Spec(
            f'{side}.type',
            'std_msgs/msg/Float64MultiArray',
            f'message type of the {what}; this one is a stamped array, [sec, nanosec, value]',
            live=False,
        ),
        Spec(
            f'{side}.value_field',
            '',
            f'path to the {what}, such as results[0].score; empty: data',
            live=False,
        ),
        Spec(f'{side}.stamp_field', '', 'path to the stamp; empty: header.stamp', live=False),
        Spec(
            f'{side}.stamping',
            'header',
            'stamp in the message, of its publication (executor single), or of its arrival',
            live=False,
            choices=('header', 'publication', 'arrival'),
        ),
    )


TABLE = (
    Spec('method', 'ops', 'calibration method', live=False, choices=tuple(CALIBRATORS)),
    Spec(
        'classes',
        1,
        'probabilities in a message, one a class; 1: that of the positive class',
        live=False,
        limits=Interval(1, 1000),
    ),
    _method('gamma', 0.1, 'inverse step size of the Newton step; smaller learns faster'),
    _method(
        'rho',
        100.0,
        'weight of the identity in A; larger is slower at first; beta, tobs, hobs: 25 if not given',
    ),
    _method('radius', 100.0, 'the parameters of the map are kept within this norm'),
    _method(
        'clip',
        0.01,
        'probabilities are clipped to [clip, 1 - clip] before the logit; several classes: if not '
        'given 0.01 / classes, temperature 1e-09',
    ),
    _method('forgetting', 1.0, 'share of A kept at each update; below 1 the map follows drift'),
    _method('calibeating.bins', 10, 'bins of the calibrated probability (tops, tobs, hops, hobs)'),
    _method(
        'calibeating.pseudo_count',
        0.0,
        'samples at its mid-point that each bin starts with (tops, tobs)',
    ),
    _method('calibeating.seed', 0, 'seed of the random choice between two forecasts (hops, hobs)'),
    _method('windowed.window', 1000, 'matched samples that windowed methods are fitted to'),
    _method('windowed.refit_every', 50, 'matched samples from one fit to the next'),
    _method('windowed.smooth', True, 'never forecast 0 or 1 (isotonic)'),
    _method('windowed.interpolate', False, 'straight lines instead of steps (isotonic)'),
    _method('ensemble.averaging', True, 'three step sizes; false: the middle one alone (ensemble)'),
    _method('ensemble.spring', True, 'larger steps while the probabilities shift (ensemble)'),
    _method('ensemble.auto', True, 'calibrate only if the ECE of the warm-up is high (ensemble)'),
    _method('ensemble.warmup', 500, 'samples before auto decides (ensemble)'),
    Spec('learning', True, 'false: match and score, but learn nothing'),
    Spec(
        'on_invalid',
        'drop',
        'what becomes of a refused prediction; pass: republished unchanged',
        choices=('drop', 'pass'),
    ),
    Spec('match.policy', 'nearest', 'how a label finds its prediction', choices=POLICIES),
    Spec(
        'match.tolerance',
        0.01,
        'nearest: farthest a label may be from its prediction',
        's',
        limits=Interval(0.0, 3600.0),
    ),
    Spec(
        'match.horizon',
        60.0,
        'how long a prediction waits for its label, in time of the stamps',
        's',
        limits=Interval(0.001, 1e6),
    ),
    Spec(
        'match.max_disorder',
        1.0,
        'a prediction older than the newest by more than this is a jump back in time',
        's',
        limits=Interval(0.0, 1e6),
    ),
    Spec('match.capacity', 10_000, 'predictions kept, and labels kept', limits=COUNT),
    Spec('ece.bins', 15, 'equal-width bins of the ECE', limits=Interval(1, 1000)),
    Spec('ece.window', 1000, 'matched samples that the figures are computed on', limits=COUNT),
    Spec(
        'ece.min_samples', 300, 'matched samples before ece.warn counts', limits=Interval(1, 10**6)
    ),
    Spec('ece.period', 1.0, 'time between publications of the figures', 's', limits=PERIOD),
    Spec('ece.warn', 0.1, 'diagnostics warn above this ECE', limits=Interval(0.0, 1.0)),
    Spec('diagnostics.period', 1.0, 'time between diagnostics', 's', limits=PERIOD),
    Spec(
        'diagnostics.stale_after',
        5.0,
        'diagnostics are STALE after this time without a prediction',
        's',
        limits=POSITIVE,
    ),
    Spec('state.enabled', True, 'keep what was learned in a file', live=False),
    Spec(
        'state.file',
        '',
        'the file; empty: $ROS_HOME/calib_node/<fully qualified node name>.yaml',
        live=False,
    ),
    Spec(
        'state.autosave_period',
        30.0,
        'time between saves; 0: no timer, the other saves stay',
        's',
        limits=Interval(0.0, 86400.0),
    ),
    *_input('raw', 'probability'),
    *_input('label', 'label'),
    Spec('label.offset', 0.0, 'added to the stamps of labels', 's', limits=Interval(-1e6, 1e6)),
    Spec('positive_class', '', 'the class that counts as 1 where labels are names', live=False),
    Spec(
        'qos.depth',
        1000,
        'depth of every topic; a burst beyond it is lost',
        live=False,
        limits=Interval(1, 100_000),
    ),
    Spec(
        'qos.reliability',
        'automatic',
        'of the inputs; automatic: reliable from each publisher that offers it',
        live=False,
        choices=('automatic', 'best_effort', 'reliable'),
    ),
    Spec(
        'qos.durability',
        'volatile',
        'of the inputs; transient_local hears only publishers that are so too',
        live=False,
        choices=('volatile', 'transient_local'),
    ),
    Spec(
        'executor',
        'events',
        'how rclpy waits; events costs the least processor time',
        live=False,
        choices=('events', 'single'),
    ),
)

BY_NAME = {spec.name: spec for spec in TABLE}
MATCH_NAMES = tuple(name for name in BY_NAME if name.startswith('match.'))
