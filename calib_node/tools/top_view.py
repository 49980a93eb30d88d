# SPDX-License-Identifier: Apache-2.0
"""What calib_top shows of a node, as lines of text."""

from __future__ import annotations

import textwrap
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from calib_node.stream.status import Level

RATE_OVER = 5.0
"""Seconds over which rates are taken."""
SILENT_AFTER = 5.0
"""Seconds without diagnostics after which a node is called silent."""
LEARNED = ('a', 'b', 'c', 'temperature', 'updates')
"""Figures of the calibrator that are shown, where it has them."""
MOST_LINES = 4
"""Of the message."""


@dataclass
class Rates:
    """How fast counts grow, over the last seconds."""

    _heard: deque[tuple[float, int, int]] = field(default_factory=deque)

    def add(self, now: float, figures: Mapping[str, str]) -> None:
        """Take in the counts of a status, unless it was taken in before."""
        if self._heard and self._heard[-1][0] == now:
            return
        self._heard.append((now, count(figures, 'predictions'), count(figures, 'labels')))
        while len(self._heard) > 2 and now - self._heard[0][0] > RATE_OVER:
            self._heard.popleft()

    @property
    def are_known(self) -> bool:
        """Whether there are any: of one status alone there are none."""
        return len(self._heard) > 1

    def shown(self) -> str:
        """Return the rates in words."""
        if not self.are_known:
            return 'rates not known yet'
        (begin, *before), (end, *after) = self._heard[0], self._heard[-1]
        span = max(end - begin, 1e-9)
        # Counts begin anew where a node was started again.
        predictions, labels = (max(b - a, 0) / span for a, b in zip(before, after))
        return f'{predictions:.1f} predictions/s, {labels:.1f} labels/s'


def count(figures: Mapping[str, str], name: str) -> int:
    """Return a count; 0 where there is none."""
    try:
        return int(figures.get(name, '0'))
    except ValueError:
        return 0


def level_word(level: Level, silent: float) -> str:
    """Return what is shown of the level."""
    return f'SILENT for {silent:.0f} s' if silent > SILENT_AFTER else level.name


def lines_of(
    node: str,
    level: Level,
    message: str,
    figures: Mapping[str, str],
    rates: str,
    silent: float,
    now: datetime,
    width: int = 80,
) -> list[str]:
    """Return what is shown of a node, none of it wider than the terminal.

    Parameters
    ----------
    node : str
        Its name.
    level, message, figures
        Its last status.
    rates : str
        In words.
    silent : float
        Seconds since that status.
    now : datetime
        In UTC.
    width : int
        Columns of the terminal.
    """
    word = level_word(level, silent)
    head = f'{node[: max(width - len(word) - 2, 8)]:{width - len(word) - 1}} {word}'
    message_lines = textwrap.wrap(message, max(width - 2, 20))
    if len(message_lines) > MOST_LINES:
        message_lines = [*message_lines[: MOST_LINES - 1], f'{message_lines[MOST_LINES - 1]} …']
    pending = f'{figures.get("pending predictions", "?")}/{figures.get("pending labels", "?")}'
    body = [
        *message_lines,
        f'{rates}; pending {pending}, refused {figures.get("refused", "?")}',
        _ece(figures),
        f'{_learned(figures)}; {_saved(figures, now)}',
    ]
    return [head[:width], *(f'  {line}'[:width].rstrip() for line in body)]


def _ece(figures: Mapping[str, str]) -> str:
    name = 'ECE' if 'ECE' in figures else 'ECE (top class)'
    if not count(figures, 'samples in window'):
        return 'ECE: no match yet'
    shown = [_short(figures.get(f'{side}{name}{end}', '')) for side in ('', 'raw ')
             for end in ('', ' by chance')]  # fmt: skip
    return (
        f'ECE {shown[0]} (by chance {shown[1]}), raw {shown[2]} ({shown[3]}), over '
        f'{figures["samples in window"]} matches'
    )


def _short(value: str) -> str:
    try:
        return f'{float(value):.3f}'
    except ValueError:
        return '?'


def _learned(figures: Mapping[str, str]) -> str:
    parts = [figures.get('method', '?')]
    for name in LEARNED:
        if name in figures:
            value = figures[name]
            whole = value.removesuffix('.0').isdecimal()
            parts.append(f'{name} {value.removesuffix(".0") if whole else _short(value)}')
    return ' '.join(parts)


def _saved(figures: Mapping[str, str], now: datetime) -> str:
    if figures.get('state file') == 'off':
        return 'nothing is kept'
    try:
        saved = datetime.fromisoformat(figures.get('state saved at', ''))
    except ValueError:
        return 'not saved yet'
    ago = max((now - saved.astimezone(timezone.utc)).total_seconds(), 0.0)
    for unit, seconds in (('d', 86_400), ('h', 3600), ('min', 60)):
        if ago >= 2 * seconds:
            return f'saved {ago / seconds:.0f} {unit} ago'
    return f'saved {ago:.0f} s ago'
