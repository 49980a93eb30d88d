# SPDX-License-Identifier: Apache-2.0
"""From the values of the node's parameters to the core, and to one that runs."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from calib_node.core.calibrators import Learner, create, create_multiclass
from calib_node.core.calibrators.parameters import Parameter
from calib_node.core.matching import create_matcher
from calib_node.core.pipeline import AnyPipeline, MulticlassPipeline, Pipeline
from calib_node.core.samples import NANOSECONDS
from calib_node.ros.parameters import BY_NAME, MATCH_NAMES, TABLE, Spec, Value

Values = Mapping[str, Any]


def make_pipeline(values: Values) -> AnyPipeline:
    """Return the pipeline that the parameters ask for.

    Raises
    ------
    ValueError
        If the method cannot be had with these parameters.
    """
    matcher = create_matcher(**_matching(values))
    method, own, classes = values['method'], _of_method(values), values['classes']
    figures = values['ece.bins'], values['ece.window']
    if classes == 1:
        return Pipeline(create(method, **own), matcher, *figures)
    return MulticlassPipeline(create_multiclass(method, classes, **own), matcher, *figures)


def check_change(calibrator: Learner, values: Values, changed: Values) -> None:
    """Raise a ValueError if the calibrator cannot take over what has changed."""
    if any(BY_NAME[name].of_method for name in changed):
        copy.deepcopy(calibrator).configure(**_of_method({**values, **changed}))


def change_pipeline(pipeline: AnyPipeline, values: Values, changed: Collection[str]) -> None:
    """Let values take effect on a running pipeline, those of the changed names new."""
    own = _of_method(values)
    if own != pipeline.calibrator.parameters():
        pipeline.calibrator.configure(**own)
    if any(name in changed for name in MATCH_NAMES):
        pipeline.configure_matching(**_matching(values))
    if (pipeline.raw.bins, pipeline.raw.window) != (values['ece.bins'], values['ece.window']):
        pipeline.set_window(values['ece.bins'], values['ece.window'])
    pipeline.learning = values['learning']


@lru_cache
def _defaults(method: str, classes: int) -> dict[str, Parameter]:
    made = create(method) if classes == 1 else create_multiclass(method, classes)
    return made.parameters()


def names_of_method(method: str) -> dict[str, str]:
    """Return the parameters that a method has: name here by the method's own name."""
    own = _defaults(method, 1)
    return {spec.of_method: spec.name for spec in TABLE if spec.of_method in own}


def default_of(spec: Spec, method: str, classes: int) -> Value:
    """Return the default of a parameter, which may be the method's own."""
    return _defaults(method, classes).get(spec.of_method, spec.default)


def nanoseconds(seconds: float) -> int:
    """Return the nanoseconds nearest to a time in seconds."""
    return round(seconds * NANOSECONDS)


def _of_method(values: Values) -> dict[str, Any]:
    names = names_of_method(values['method'])
    return {own_name: values[name] for own_name, name in names.items()}


def _matching(values: Values) -> dict[str, Any]:
    return {
        'policy': values['match.policy'],
        'tolerance': nanoseconds(values['match.tolerance']),
        'horizon': nanoseconds(values['match.horizon']),
        'max_disorder': nanoseconds(values['match.max_disorder']),
        'capacity': values['match.capacity'],
    }
