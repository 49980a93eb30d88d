# SPDX-License-Identifier: Apache-2.0
"""Streams of predictions and labels in short hand, for the tests of matching."""

from __future__ import annotations

from typing import Any

from calib_node.core.matching import Matcher, create_matcher

SETTINGS: dict[str, Any] = {
    'policy': 'nearest',
    'tolerance': 10,
    'horizon': 1000,
    'max_disorder': 100,
    'capacity': 10_000,
}


def make(**changed: Any) -> Matcher[str, str]:
    return create_matcher(**{**SETTINGS, **changed})


def feed(matcher: Matcher[str, str], text: str) -> list[str]:
    """Feed ``p100`` or ``l104``, a letter after the stamp telling equals apart; return matches."""
    matches = []
    for name in text.split():
        stamp = int(name[1:].rstrip('abc'))
        add = matcher.add_prediction if name[0] == 'p' else matcher.add_label
        matches += [' '.join(match) for match in add(stamp, name)]
    return matches


def flush(matcher: Matcher[str, str]) -> list[str]:
    return [' '.join(match) for match in matcher.flush()]
