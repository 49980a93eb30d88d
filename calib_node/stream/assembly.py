# SPDX-License-Identifier: Apache-2.0
"""From settings to the pipeline that they ask for, and to one that runs."""

from __future__ import annotations

import copy
from typing import Any

from calib_node.core.calibrators import Learner, create, create_multiclass
from calib_node.core.matching import create_matcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import NANOSECONDS
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
    if settings.classes == 1:
        return create(settings.method, **settings.calibrator)
    return create_multiclass(settings.method, settings.classes, **settings.calibrator)


def make_pipeline(settings: Settings) -> Pipeline[Any]:
    """Return the pipeline that the settings ask for.

    Raises
    ------
    ValueError
        If the method cannot be had with these parameters.
    """
    calibrator: Any = make_calibrator(settings)
    return Pipeline(
        calibrator,
        create_matcher(**matching(settings)),
        settings.ece.bins,
        settings.ece.window,
        settings.learning,
    )


def check_change(calibrator: Learner, settings: Settings) -> None:
    """Raise a ValueError if a calibrator cannot take over the settings."""
    if settings.calibrator != calibrator.parameters():
        copy.deepcopy(calibrator).configure(**settings.calibrator)


def change_pipeline(pipeline: Pipeline[Any], before: Settings, settings: Settings) -> None:
    """Let settings take effect on a pipeline that runs with those of before."""
    calibrator: Any = pipeline.calibrator
    if settings.calibrator != calibrator.parameters():
        calibrator.configure(**settings.calibrator)
    if settings.match != before.match:
        pipeline.configure_matching(**matching(settings))
    if (settings.ece.bins, settings.ece.window) != (before.ece.bins, before.ece.window):
        pipeline.scores.configure(settings.ece.bins, settings.ece.window)
    pipeline.learning = settings.learning
