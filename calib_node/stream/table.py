# SPDX-License-Identifier: Apache-2.0
"""The one table of parameters: their names, types, defaults, ranges and meanings.

The fields of `Parameters` are the parameters and their sections, in the order in which they are
shown. Checks, the node's declarations, config/calib.yaml and the README follow from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from calib_node.core.calibrators import CALIBRATORS, default_parameters
from calib_node.core.matching import OBJECTS, POLICIES
from calib_node.core.ranges import POSITIVE as ABOVE_ZERO
from calib_node.core.ranges import Interval
from calib_node.stream.input_parameters import Context, LabelInput, RawInput
from calib_node.stream.parameters import SPEC, Spec, listed, of_method, parameter
from calib_node.stream.presets import PRESETS

PERIOD = Interval(0.01, 86400.0)
COUNT = Interval(1, 1_000_000)

METHODS = 'methods'
WHAT = 'what'
"""Keys of a field's metadata: the rows of the methods, and what the messages of an input hold."""


def _method(name: str, meaning: str) -> Spec:
    """Declare a parameter of calibration methods, with the default of the first that has it."""
    own_name = name.rpartition('.')[2]
    first = next(method for method in CALIBRATORS if own_name in default_parameters(method))
    live = not any(own_name in method.fixed for method in CALIBRATORS.values())
    return of_method(name, default_parameters(first)[own_name], live, meaning)


@dataclass(frozen=True)
class Match:
    """How labels find their predictions."""

    policy: str = parameter('nearest', 'how a label finds its prediction', choices=POLICIES)
    tolerance: float = parameter(
        0.01,
        'nearest: farthest a label may be from its prediction',
        's',
        limits=Interval(0.0, 3600.0),
    )
    horizon: float = parameter(
        60.0,
        'how long a prediction waits for its label, in time of the stamps',
        's',
        limits=Interval(0.001, 1e6),
    )
    max_disorder: float = parameter(
        1.0,
        'a prediction older than the newest by more than this is a jump back in time',
        's',
        limits=Interval(0.0, 1e6),
    )
    capacity: int = parameter(10_000, 'predictions kept, and labels kept', limits=COUNT)
    objects: str = parameter(
        'single',
        'which object of a message a label is about: the only one, that of the same id or the '
        'same index, or of the box or centre that fits best',
        live=False,
        choices=OBJECTS,
    )
    iou: float = parameter(
        0.5,
        'iou: least overlap (intersection over union) of a box and that of its label',
        live=False,
        limits=Interval(0.0, 1.0, low_open=True),
    )
    distance: float = parameter(
        1.0,
        'distance: farthest a centre may be from that of its label',
        'm',
        live=False,
        limits=ABOVE_ZERO,
    )


@dataclass(frozen=True)
class Ece:
    """The rolling figures."""

    bins: int = parameter(15, 'equal-width bins of the ECE', limits=Interval(1, 1000))
    window: int = parameter(1000, 'matched samples that the figures are computed on', limits=COUNT)
    min_samples: int = parameter(300, 'matched samples before ece.warn counts', limits=COUNT)
    period: float = parameter(1.0, 'time between publications of the figures', 's', limits=PERIOD)
    warn: float = parameter(
        0.1,
        'diagnostics warn above this ECE, not counting what may be chance at so many samples',
        limits=Interval(0.0, 1.0),
    )


@dataclass(frozen=True)
class Alarm:
    """The alarm that what is published has ceased to be honest."""

    false_alarm_every: float = parameter(
        100_000.0,
        'labels from one false alarm to the next, at least on average; 0: no alarm',
        limits=Interval(0.0, 1e12),
    )
    labels: str = parameter(
        'late',
        'late: labels may come after later predictions, for which the alarm takes more of them to '
        'go; independent: each label is known before the next prediction',
        choices=('late', 'independent'),
    )


@dataclass(frozen=True)
class Diagnostics:
    """What is said on /diagnostics."""

    period: float = parameter(1.0, 'time between diagnostics', 's', limits=PERIOD)
    stale_after: float = parameter(
        5.0, 'diagnostics are STALE after this time without a prediction', 's', limits=ABOVE_ZERO
    )


@dataclass(frozen=True)
class State:
    """Where what was learned is kept."""

    enabled: bool = parameter(True, 'keep what was learned in a file', live=False)
    file: str = parameter(
        '', 'the file; empty: $ROS_HOME/calib_node/<fully qualified node name>.yaml', live=False
    )
    autosave_period: float = parameter(
        30.0,
        'time between saves; 0: no timer, the other saves stay',
        's',
        limits=Interval(0.0, 86400.0),
    )


@dataclass(frozen=True)
class Qos:
    """Quality of service of the topics."""

    depth: int = parameter(
        1000,
        'depth of every topic; a burst beyond it is lost',
        live=False,
        limits=Interval(1, 100_000),
    )
    reliability: str = parameter(
        'automatic',
        'of the inputs; automatic: reliable from each publisher that offers it',
        live=False,
        choices=('automatic', 'best_effort', 'reliable'),
    )
    durability: str = parameter(
        'volatile',
        'of the inputs; transient_local hears only publishers that are so too',
        live=False,
        choices=('volatile', 'transient_local'),
    )


OF_METHODS = (
    _method('gamma', 'inverse step size of the Newton step; smaller learns faster'),
    _method(
        'rho',
        'weight of the identity in A; larger is slower at first; beta, tobs, hobs: 25 if not given',
    ),
    _method('radius', 'the parameters of the map are kept within this norm'),
    _method(
        'clip',
        'probabilities are clipped to [clip, 1 - clip] before the logit; several classes: if not '
        'given 0.01 / classes, temperature 1e-09',
    ),
    _method('forgetting', 'share of A kept at each update; below 1 the map follows drift'),
    _method('calibeating.bins', 'bins of the calibrated probability (tops, tobs, hops, hobs)'),
    _method(
        'calibeating.pseudo_count',
        'samples at its mid-point that each bin starts with (tops, tobs)',
    ),
    _method('calibeating.seed', 'seed of the random choice between two forecasts (hops, hobs)'),
    _method('windowed.window', 'matched samples that windowed methods are fitted to'),
    _method('windowed.refit_every', 'matched samples from one fit to the next'),
    _method('windowed.smooth', 'never forecast 0 or 1 (isotonic)'),
    _method('windowed.interpolate', 'straight lines instead of steps (isotonic)'),
    _method('ensemble.averaging', 'three step sizes; false: the middle one alone (ensemble)'),
    _method('ensemble.spring', 'larger steps while the probabilities shift (ensemble)'),
    _method('ensemble.auto', 'calibrate only if the ECE of the warm-up is high (ensemble)'),
    _method('ensemble.warmup', 'samples before auto decides (ensemble)'),
)


@dataclass(frozen=True)
class Parameters:
    """All parameters, checked and typed.

    Attributes
    ----------
    calibrator : dict
        The parameters that the method has, by the method's own names.

    The others are described by their declarations.
    """

    preset: str = parameter(
        '',
        'types and paths for a known message type, each of which may be given otherwise',
        live=False,
        choices=tuple(PRESETS),
    )
    method: str = parameter('ops', 'calibration method', live=False, choices=tuple(CALIBRATORS))
    classes: int = parameter(
        1,
        'probabilities in a message, one per class; 1: that of the positive class',
        live=False,
        limits=Interval(1, 1000),
    )
    calibrator: dict[str, Any] = field(default_factory=dict, metadata={METHODS: OF_METHODS})
    learning: bool = parameter(True, 'false: match and score, but learn nothing')
    on_invalid: str = parameter(
        'drop',
        'what becomes of a refused prediction; pass: republished unchanged',
        choices=('drop', 'pass'),
    )
    match: Match = field(default=Match())
    ece: Ece = field(default=Ece())
    alarm: Alarm = field(default=Alarm())
    diagnostics: Diagnostics = field(default=Diagnostics())
    state: State = field(default=State())
    raw: RawInput = field(default=RawInput(), metadata={WHAT: 'probability'})
    label: LabelInput = field(default=LabelInput(), metadata={WHAT: 'label'})
    positive_class: str = parameter(
        '',
        'the class that counts as 1 where labels are names, and all others as 0: short for the '
        'lists of label',
        live=False,
    )
    class_names: tuple[str, ...] = listed(
        (), str, 'names of the classes in their order, which also says how many there are'
    )
    contexts: tuple[str, ...] = listed(
        (),
        str,
        'names of what calibration may differ by; for each there are context.<name>.field, a path, '
        'and for numbers context.<name>.edges',
    )
    context: Context = field(default=Context())
    qos: Qos = field(default=Qos())
    executor: str = parameter(
        'events',
        'how rclpy waits; events costs the least processor time',
        live=False,
        choices=('events', 'single'),
    )


def _rows() -> Iterator[Spec]:
    for entry in fields(Parameters):
        facts = entry.metadata
        if SPEC in facts:
            yield replace(facts[SPEC], name=entry.name)
        elif METHODS in facts:
            yield from facts[METHODS]
        else:
            section: Any = entry.default
            for inner in fields(section):
                if SPEC not in inner.metadata:
                    continue
                spec = inner.metadata[SPEC]
                meaning = spec.meaning.format(what=facts.get(WHAT))
                yield replace(spec, name=f'{entry.name}.{inner.name}', meaning=meaning)


TABLE = tuple(_rows())
"""Every parameter, in the order in which it is shown."""

BY_NAME = {spec.name: spec for spec in TABLE}
