# SPDX-License-Identifier: Apache-2.0
"""From settings to the pipeline that they ask for, and to one that runs."""

from __future__ import annotations

import copy
from typing import Any

from calib_node.core.calibrators import Learner, create, create_multiclass
from calib_node.core.frame_pipeline import FramePipeline
from calib_node.core.matching import create_matcher
from calib_node.core.matching.assignment import Assignment
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import NANOSECONDS
from calib_node.stream.labels import LabelReader
from calib_node.stream.settings import Settings


def nanoseconds(seconds: float) -> int:
    """Return the nanoseconds nearest to a time in seconds."""
    return round(seconds * NANOSECONDS)


def matching(settings: Settings) -> dict[str, Any]:
    """Return the arguments of `create_matcher`, times in nanoseconds."""
    match = settings.match
    return {
        'policy': match.policy,
        'tolerance': nanoseconds(match.tolerance),
        'horizon': nanoseconds(match.horizon),
        'max_disorder': nanoseconds(match.max_disorder),
        'capacity': match.capacity,
    }


def make_calibrator(settings: Settings) -> Learner:
    """Return the calibrator that the settings ask for.

    Raises
    ------
    ValueError
        If the method cannot be had with these parameters.
    """
    given = dict(settings.calibrator)
    if settings.contexts:
        given |= {
            'contexts': settings.contexts,
            'context_capacity': settings.context.capacity,
            'context_rho': settings.context.rho,
        }
    if settings.classes == 1:
        return create(settings.method, **given)
    return create_multiclass(settings.method, settings.classes, **given)


def make_label_reader(settings: Settings) -> LabelReader:
    """Return what says what labels mean."""
    label = settings.label
    return LabelReader(
        settings.positive_class, label.positive, label.negative, label.ignore, settings.class_names
    )


def make_pipeline(settings: Settings) -> Pipeline[Any]:
    """Return the pipeline that the settings ask for.

    Raises
    ------
    ValueError
        If the method cannot be had with these parameters.
    """
    calibrator: Any = make_calibrator(settings)
    match, rest = settings.match, (settings.ece.bins, settings.ece.window, settings.learning)
    matcher = create_matcher(**matching(settings), objects=match.objects)
    if match.objects == 'single':
        return Pipeline(calibrator, matcher, *rest)
    assignment = None
    if match.objects != 'id':
        assignment = Assignment(match.objects, match.iou, match.distance, settings.label.partial)
    return FramePipeline(calibrator, matcher, assignment, *rest)


def check_change(calibrator: Learner, settings: Settings) -> None:
    """Raise a ValueError if a calibrator cannot take over the settings."""
    if _differs(calibrator, settings):
        copy.deepcopy(calibrator).configure(**settings.calibrator)


def change_pipeline(pipeline: Pipeline[Any], before: Settings, settings: Settings) -> None:
    """Let settings take effect on a pipeline that runs with those of before."""
    calibrator: Any = pipeline.calibrator
    if _differs(calibrator, settings):
        calibrator.configure(**settings.calibrator)
    if settings.match != before.match:
        pipeline.configure_matching(**matching(settings))
    if (settings.ece.bins, settings.ece.window) != (before.ece.bins, before.ece.window):
        pipeline.scores.configure(settings.ece.bins, settings.ece.window)
    pipeline.learning = settings.learning


def _differs(calibrator: Learner, settings: Settings) -> bool:
    """Return whether the method's parameters change; those of contexts are read at the start."""
    now = calibrator.parameters()
    return any(now[name] != value for name, value in settings.calibrator.items())
