# SPDX-License-Identifier: Apache-2.0
"""What calib_top shows of a node: all in five lines that fit a terminal."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from calib_node.stream.status import Level
from calib_node.tools.top_view import Rates, lines_of

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=timezone.utc)
FIGURES = {
    'method': 'ops', 'a': '0.53', 'b': '-0.25', 'updates': '2100.0', 'ECE': '0.0437',
    'ECE by chance': '0.019', 'raw ECE': '0.092', 'raw ECE by chance': '0.011',
    'samples in window': '1000', 'predictions': '500', 'labels': '100', 'refused': '3',
    'pending predictions': '12', 'pending labels': '4', 'state file': '/x.yaml',
    'state saved at': '2026-01-01T11:59:30+00:00',
}  # fmt: skip


def shown(message: str = 'calibrating', silent: float = 0.5, width: int = 80, **more: str) -> Any:
    figures = {**FIGURES, **more}
    return lines_of('/front/calib_node', Level.OK, message, figures, '9.0/s', silent, NOW, width)


def test_lines():
    head, *rest = shown()
    assert head == '/front/calib_node'.ljust(77) + ' OK'
    assert rest == [
        '  calibrating',
        '  9.0/s; pending 12/4, refused 3',
        '  ECE 0.044 (by chance 0.019), raw 0.092 (0.011), over 1000 matches',
        '  ops a 0.530 b -0.250 updates 2100; saved 30 s ago',
    ]


@pytest.mark.parametrize('width', [20, 40, 80, 200])
@pytest.mark.parametrize('message', ['', 'short', 'a long sentence of many words ' * 40, 'x' * 500])
def test_no_line_is_wider_than_the_terminal(width: int, message: str):
    lines = shown(message, width=width)
    assert all(len(line) <= width for line in lines)
    assert len(lines) <= 8


def test_a_node_that_is_silent_is_said_to_be():
    assert shown(silent=30.0)[0].endswith(' SILENT for 30 s')


@pytest.mark.parametrize(
    ('saved', 'words'),
    [
        ('', 'not saved yet'),
        ('2026-01-01T11:00:00+00:00', 'saved 60 min ago'),
        ('2026-01-01T13:00:00+02:00', 'saved 60 min ago'),
        ('2025-12-30T12:00:00+00:00', 'saved 2 d ago'),
        ('2026-01-01T12:00:05+00:00', 'saved 0 s ago'),
    ],
)
def test_the_last_save(saved: str, words: str):
    assert shown(**{'state saved at': saved})[-1].endswith(words)
    assert shown(**{'state file': 'off'})[-1].endswith('nothing is kept')


def test_nothing_matched_and_classes():
    assert '  ECE: no match yet' in shown(**{'samples in window': '0'})
    figures = {k: v for k, v in FIGURES.items() if 'ECE' not in k}
    for side in ('', 'raw '):
        figures |= {f'{side}ECE (top class)': '0.05', f'{side}ECE (top class) by chance': '0.01'}
    lines = lines_of('/n', Level.OK, 'm', figures, '', 0.0, NOW)
    assert '  ECE 0.050 (by chance 0.010), raw 0.050 (0.010), over 1000 matches' in lines


def test_rates():
    rates = Rates()
    assert rates.shown() == 'rates not known yet'
    for second in range(20):
        figures = {'predictions': str(10 * second), 'labels': str(second)}
        rates.add(float(second), figures)
        rates.add(float(second), figures)
    assert rates.shown() == '10.0 predictions/s, 1.0 labels/s'
    # After a restart counts begin anew.
    rates.add(20.0, {'predictions': '3', 'labels': 'x'})
    assert rates.shown() == '0.0 predictions/s, 0.0 labels/s'
