# SPDX-License-Identifier: Apache-2.0
"""Messages of many objects, and pipelines for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_node.core.calibrators import create, create_multiclass
from calib_node.core.frame_pipeline import FramePipeline
from calib_node.core.matching import create_matcher
from calib_node.core.matching.assignment import Assignment
from calib_node.core.samples import Frame, LabelFrame, Match

MS = 1_000_000
SECOND = 1000 * MS


def pipeline_of(
    objects: str,
    policy: str = 'nearest',
    method: str = 'ops',
    classes: int = 1,
    capacity: int = 10_000,
    **more: Any,
) -> FramePipeline[Any]:
    matcher = create_matcher(policy, 10 * MS, 60 * SECOND, SECOND, capacity, objects)
    calibrator: Any = create(method) if classes == 1 else create_multiclass(method, classes)
    assignment = None if objects == 'id' else Assignment(objects, **more)
    return FramePipeline(calibrator, matcher, assignment)


def frame(stamp: int, values: Sequence[Any], **columns: Any) -> Frame:
    return Frame(stamp, np.array(values, np.float64), **columns)


def boxes(*corners: Sequence[float]) -> Any:
    return np.array(corners, np.float64).reshape(-1, 4)


def observed(pipeline: FramePipeline[Any]) -> list[Match[Any]]:
    """Return where the matches to come will be found."""
    matches: list[Match[Any]] = []
    pipeline.on_match.append(matches.append)
    return matches


def told(matches: Sequence[Match[Any]]) -> list[tuple[int, float, int]]:
    return [(match.stamp, match.raw, match.label) for match in matches]


def whole(pipeline: FramePipeline[Any], labels: LabelFrame) -> None:
    """Take labels in of which none is to be refused."""
    assert pipeline.label_frame(labels) == {}
