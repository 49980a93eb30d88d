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
    places = _last_places(pipeline)
    if 2 * places[False] > places.total():
        yield f'{places[False]} of the last {places.total()} predictions {_why_unplaced(settings)}'
    if last['missed'] == last.total() >= ENOUGH:
        why = _why_missed(pipeline, settings)
        if why:
            yield f'none of the last {last.total()} true objects was found by a prediction{why}'
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
    places = _last_places(pipeline)
    if 0 < 2 * places[False] <= places.total():
        yield f'{places[False]} of the last {places.total()} predictions {_why_unplaced(settings)}'
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
    if settings.match.objects == 'id':
        return (
            'were of an id that is twice in a message, so that nobody can tell which object they '
            'are about: give each object an id of its own'
        )
    return (
        'came with a true object of their class that has no place, so that nobody can tell which '
        'prediction it explains: give each true object its box or its centre'
    )


def _why_unplaced(settings: Parameters) -> str:
    field = 'raw.box_field' if settings.match.objects == 'iou' else 'raw.position_field'
    what = 'a box of no size or one' if settings.match.objects == 'iou' else 'a centre'
    return (
        f'have {what} that is not finite, so that no label finds them: set {field} to a field '
        'that the publisher fills'
    )


def _last_places(pipeline: Pipeline[Any]) -> Counter[bool]:
    return Counter(pipeline.recent_places if isinstance(pipeline, FramePipeline) else ())


def _last_truths(pipeline: Pipeline[Any]) -> Counter[str]:
    return Counter(pipeline.recent_truths if isinstance(pipeline, FramePipeline) else ())


def _of(last: Counter[str], became: str) -> str:
    return f'{last[became]} of the last {last.total()}'


def _why_missed(pipeline: Pipeline[Any], settings: Parameters) -> str:
    """Return why, and what to do; empty where that is said elsewhere."""
    match, why = settings.match, getattr(pipeline, 'missed_for', '')
    if why == 'unplaced':
        return ''
    if why == 'empty':
        return (
            ', as there was none that counts: let the classifier publish what it sees, with low '
            'probabilities too'
        )
    if why == 'class':
        return ', as none was of their class: let predictions and labels have the same class names'
    if match.objects == 'iou':
        return f': set match.iou below {match.iou:g}'
    return f': set match.distance above {match.distance:g}'
