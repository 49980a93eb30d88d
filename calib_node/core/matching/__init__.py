# SPDX-License-Identifier: Apache-2.0
"""Pairs predictions with labels by stamp."""

from __future__ import annotations

from typing import Any

from calib_node.core.matching.base import MatchCounts, Matcher
from calib_node.core.matching.hold import HoldMatcher
from calib_node.core.matching.stamps import StampMatcher

__all__ = [
    'POLICIES',
    'HoldMatcher',
    'MatchCounts',
    'Matcher',
    'StampMatcher',
    'create_matcher',
    'reconfigure',
]

POLICIES = ('exact', 'nearest', 'hold')


def create_matcher(
    policy: str, tolerance: int, horizon: int, max_disorder: int, capacity: int
) -> Matcher[Any, Any]:
    """Make the matcher of a policy; `exact` is `nearest` without a tolerance.

    Parameters
    ----------
    policy : {'exact', 'nearest', 'hold'}
        How a label finds its prediction.
    tolerance, horizon, max_disorder, capacity : int
        As in `Matcher`.

    Examples
    --------
    >>> matcher = create_matcher('exact', 10, 1000, 100, 10)
    >>> matcher.add_prediction(100, 'p'), matcher.add_label(101, 'y'), matcher.add_label(100, 'y')
    ([], [], [('p', 'y')])
    """
    if policy not in POLICIES:
        raise ValueError(f'the match policy must be one of {", ".join(POLICIES)}, not {policy!r}')
    if policy == 'hold':
        return HoldMatcher(tolerance, horizon, max_disorder, capacity)
    return StampMatcher(tolerance if policy == 'nearest' else 0, horizon, max_disorder, capacity)


def reconfigure(
    matcher: Matcher[Any, Any],
    policy: str,
    tolerance: int,
    horizon: int,
    max_disorder: int,
    capacity: int,
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
    fresh = create_matcher(policy, tolerance, horizon, max_disorder, capacity)
    if type(fresh) is type(matcher):
        tolerance = 0 if policy == 'exact' else tolerance
        return matcher, matcher.configure(tolerance, horizon, max_disorder, capacity)
    matches = matcher.flush()
    fresh.counts = matcher.counts
    return fresh, matches
