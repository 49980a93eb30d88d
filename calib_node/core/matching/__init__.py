# SPDX-License-Identifier: Apache-2.0
"""Pairs predictions with labels by stamp."""

from __future__ import annotations

from typing import Any

from calib_node.core.matching.base import MatchCounts, Matcher
from calib_node.core.matching.frames import FrameHoldMatcher, FrameStampMatcher
from calib_node.core.matching.hold import HoldMatcher
from calib_node.core.matching.ids import IdMatcher
from calib_node.core.matching.stamps import StampMatcher

__all__ = [
    'OBJECTS',
    'POLICIES',
    'FrameHoldMatcher',
    'FrameStampMatcher',
    'HoldMatcher',
    'IdMatcher',
    'MatchCounts',
    'Matcher',
    'StampMatcher',
    'create_matcher',
    'reconfigure',
]

POLICIES = ('exact', 'nearest', 'hold')
OBJECTS = ('single', 'order', 'id', 'iou', 'distance')


def create_matcher(
    policy: str,
    tolerance: int,
    horizon: int,
    max_disorder: int,
    capacity: int,
    objects: str = 'single',
) -> Matcher[Any, Any]:
    """Make the matcher of a policy; `exact` is `nearest` without a tolerance.

    Parameters
    ----------
    policy : {'exact', 'nearest', 'hold'}
        How a label finds its prediction.
    tolerance, horizon, max_disorder, capacity : int
        As in `Matcher`.
    objects : {'single', 'order', 'id', 'iou', 'distance'}
        What a message holds: one object; or many, which labels find by this.

    Raises
    ------
    ValueError
        If there is no such policy, or not for such objects.

    Examples
    --------
    >>> matcher = create_matcher('exact', 10, 1000, 100, 10)
    >>> matcher.add_prediction(100, 'p'), matcher.add_label(101, 'y'), matcher.add_label(100, 'y')
    ([], [], [('p', 'y')])
    """
    if policy not in POLICIES:
        raise ValueError(f'the match policy must be one of {", ".join(POLICIES)}, not {policy!r}')
    if objects not in OBJECTS:
        raise ValueError(f'the objects must be one of {", ".join(OBJECTS)}, not {objects!r}')
    single = objects == 'single'
    kind: type[Matcher[Any, Any]]
    if objects == 'id':
        if policy == 'hold':
            raise ValueError(
                'the match policy hold is for the labels of whole messages, and those of ids come '
                'one by one: take nearest or exact'
            )
        kind = IdMatcher
    elif policy == 'hold':
        kind = HoldMatcher if single else FrameHoldMatcher
    else:
        kind = StampMatcher if single else FrameStampMatcher
    return kind(0 if policy == 'exact' else tolerance, horizon, max_disorder, capacity)


def reconfigure(
    matcher: Matcher[Any, Any],
    policy: str,
    tolerance: int,
    horizon: int,
    max_disorder: int,
    capacity: int,
    objects: str = 'single',
) -> tuple[Matcher[Any, Any], list[tuple[Any, Any]]]:
    """Change policy and parameters of a running matcher.

    To or from `hold`, all that waits is decided under the old policy and matching starts anew.

    Returns
    -------
    matcher : Matcher
        `matcher` itself or its successor, which goes on with its counts.
    matches : list
        What was matched by the change.
    """
    fresh = create_matcher(policy, tolerance, horizon, max_disorder, capacity, objects)
    if type(fresh) is type(matcher):
        tolerance = 0 if policy == 'exact' else tolerance
        return matcher, matcher.configure(tolerance, horizon, max_disorder, capacity)
    matches = matcher.flush()
    fresh.counts = matcher.counts
    return fresh, matches
