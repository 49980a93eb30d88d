# SPDX-License-Identifier: Apache-2.0
"""Why labels find no prediction, and which parameter would help."""

from __future__ import annotations

from typing import Any

from calib_node.core.matching import IdMatcher
from calib_node.core.pipeline import JUDGED, Pipeline
from calib_node.core.refusal import brief
from calib_node.core.samples import NANOSECONDS
from calib_node.stream.table import Match, Parameters
from calib_node.stream.wording import duration, seconds_at_least

STEADY = 5
"""So many labels equally far from their predictions are shifted, not scattered."""


def why_nothing_matches(pipeline: Pipeline[Any], settings: Parameters) -> str:
    """Return why the last labels matched nothing.

    Parameters
    ----------
    pipeline : Pipeline
        Whose matcher knows how far they were.
    settings : Parameters
        The parameters in force.

    Returns
    -------
    str
        A sentence with the parameter that would have helped and the value it needed.
    """
    matcher, match = pipeline.matcher, settings.match
    predictions = pipeline.recent_predictions.last(JUDGED)
    if not predictions:
        return (
            'the messages of predictions hold no object'
            if pipeline.counts.messages
            else 'no prediction has come'
        )
    if all(item is None or isinstance(item, str) for item in predictions):
        return 'their predictions held no value or were refused'
    if matcher.gone is not None:
        return _gone(matcher.gone.late, matcher.gone.capacity, match)
    if matcher.miss is not None:
        return _apart(matcher.miss, list(matcher.misses), settings)
    if isinstance(matcher, IdMatcher) and matcher.not_held:
        return (
            f'their messages are there but hold no object of their id, such as '
            f'{brief(matcher.not_held)}: let raw.id_field and label.id_field lead to the same ids'
        )
    if match.policy == 'hold':
        return 'with match.policy hold a label is for the predictions from its stamp on'
    return 'their predictions have not come yet, or never will'


def _gone(late: int, capacity: int, match: Match) -> str:
    needed = []
    if late > match.horizon * NANOSECONDS:
        needed.append(f'match.horizon to at least {seconds_at_least(late)}')
    if capacity:
        needed.append(f'match.capacity to at least {capacity}')
    far = f'their predictions had been dropped, as labels came up to {duration(late)} later'
    if not needed:
        return f'{far}, under what was set then'
    return (
        f'{far}, with match.horizon {match.horizon:g} s and match.capacity {match.capacity}: set '
        + ' and '.join(needed)
    )


def _apart(miss: int, misses: list[int], settings: Parameters) -> str:
    match = settings.match
    largest = max(misses, key=abs, default=miss)
    side = 'after' if miss > 0 else 'before'
    far = f'the last one is {duration(miss)} {side} the nearest prediction'
    if match.policy == 'exact':
        return (
            f'{far}, and match.policy is exact: set match.policy to nearest and match.tolerance '
            f'to at least {seconds_at_least(largest)}'
        )
    steady = len(misses) >= STEADY
    if steady and max(misses) - min(misses) <= 2.0 * match.tolerance * NANOSECONDS:
        shift = settings.label.offset - sum(misses) / len(misses) / NANOSECONDS
        return f'{far}, as those before it are: set label.offset to {shift:.6g}'
    return f'{far}: set match.tolerance to at least {seconds_at_least(largest)}'
