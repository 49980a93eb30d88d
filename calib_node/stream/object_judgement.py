# SPDX-License-Identifier: Apache-2.0
"""What is wrong where messages hold many objects or contexts, each in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from calib_node.core.frame_pipeline import FramePipeline
from calib_node.core.pipeline import Pipeline
from calib_node.stream.table import Parameters

ENOUGH = 20
"""Objects that say something about all."""


def judged_objects(pipeline: Pipeline[Any], settings: Parameters) -> Iterator[str]:
    """Yield what is wrong with how labels find their objects.

    Parameters
    ----------
    pipeline : Pipeline
        What is looked at.
    settings : Parameters
        The parameters in force.

    Yields
    ------
    str
        A sentence that names the remedy.
    """
    last = _last_truths(pipeline)
    if 2 * last['ambiguous'] > last.total():
        yield f'{_of(last, "ambiguous")} labels {_why_ambiguous(settings)}'
    if last['missed'] == last.total() >= ENOUGH:
        yield (
            f'none of the last {last.total()} true objects was found by a prediction: '
            f'{_looser(settings)}'
        )
    if getattr(pipeline.calibrator, 'overflowed', False):
        yield (
            f'there are more contexts than context.capacity {settings.context.capacity}, and the '
            'others share one: set it higher, or give contexts of fewer values'
        )


def noted_objects(pipeline: Pipeline[Any], settings: Parameters) -> Iterator[str]:
    """Yield what is worth a look, as in `judged_objects`."""
    last = _last_truths(pipeline)
    if 0 < 2 * last['ambiguous'] <= last.total():
        yield f'{_of(last, "ambiguous")} labels {_why_ambiguous(settings)}'
    left_out = getattr(pipeline.calibrator, 'left_out', '')
    if left_out:
        yield left_out


def _why_ambiguous(settings: Parameters) -> str:
    if settings.match.objects == 'order':
        return (
            'came in messages of another length than that of their predictions, so that nobody '
            'can tell which objects they are about: publish one label for each object, or set '
            'match.objects to id'
        )
    return (
        'were of an id that is twice in a message, so that nobody can tell which object they are '
        'about: give each object an id of its own'
    )


def _last_truths(pipeline: Pipeline[Any]) -> Counter[str]:
    return Counter(pipeline.recent_truths if isinstance(pipeline, FramePipeline) else ())


def _of(last: Counter[str], became: str) -> str:
    return f'{last[became]} of the last {last.total()}'


def _looser(settings: Parameters) -> str:
    match = settings.match
    names = (
        ', or let predictions and labels have the same class names'
        if settings.raw.class_field and settings.label.class_field
        else ''
    )
    if match.objects == 'iou':
        return f'set match.iou below {match.iou:g}{names}'
    if match.objects == 'distance':
        return f'set match.distance above {match.distance:g}{names}'
    return f'let their ids be those of the predictions{names}'
