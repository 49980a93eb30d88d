# SPDX-License-Identifier: Apache-2.0
"""What was learned, and how to use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import yaml

from calib_node.core.calibrators import create
from calib_node.core.state.fields import StateError
from calib_node.report.data import ReportData
from calib_node.report.figures.base import Figure
from calib_node.report.figures.lines import map_figure, path_figure
from calib_node.report.section import Section, Table
from calib_node.report.statistics import raw_threshold

WANTED = (0.5, 0.9, 0.95, 0.99)
COUNTS = ('updates', 'contexts')
SHOWN = ('a', 'b', 'c', 'beta', 'temperature', 'updates')


def learned_map(state: dict[str, Any] | None) -> Callable[[float], float] | None:
    """Return the map from raw to calibrated of a state; None where there is none to draw."""
    if state is None or state.get('classes', 1) != 1 or 'contexts' in state:
        return None
    parameters = state.get('parameters')
    try:
        calibrator = create(str(state.get('method')), **(parameters or {}))
        calibrator.restore(state)
    except (StateError, TypeError, ValueError):
        return None
    predict: Callable[[float], float] = calibrator.predict
    return predict


def learned_section(data: ReportData) -> Section:
    """Return what was learned."""
    question, state = 'What was learned?', data.state
    if state is None:
        return Section('learned', question, ['Not known from here: it is in the state file.'])
    updates = state.get('updates', 0)
    texts = [f'Method {state.get("method")}, {updates:,} labels learned.']
    rows = [['what', 'value']]
    rows += [[name, _shown(state[name])] for name in SHOWN if name in state]
    parameters = state.get('parameters') or {}
    rows += [[f'parameter {name}', _shown(value)] for name, value in parameters.items()]
    figures: list[Figure] = []
    predict = learned_map(state)
    if predict is not None:
        raw = None if data.samples is None or data.samples.classes > 1 else data.samples.raw
        figures.append(map_figure(predict, raw))
    else:
        texts.append(
            'Its map is not drawn: it is of several classes or contexts, or the state is not sound.'
        )
    if len(data.path) > 1:
        names = [name for name in data.path[0][1] if name not in COUNTS][:4]
        if names:
            updates_then = [int(own.get('updates', n)) for n, (_, own) in enumerate(data.path)]
            values = np.array([[own[name] for name in names] for _, own in data.path])
            figures.append(path_figure(names, updates_then, values))
    else:
        texts.append('Its course over time is not known from here.')
    return Section('learned', question, texts, figures, [Table('What was learned', rows)])


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f'{value:.6g}'
    return str(value) if not isinstance(value, list) else ', '.join(map(_shown, value))


def use_section(data: ReportData) -> Section:
    """Return how to use it."""
    question = 'How do I use it?'
    predict = learned_map(data.state)
    texts, tables = [], []
    if predict is None:
        texts.append('Act on the calibrated number itself: it is what its name says.')
    else:
        rows = [['calibrated at least', 'is raw at least']]
        for wanted in WANTED:
            found = raw_threshold(predict, wanted)
            rows.append([f'{wanted:g}', 'never reached' if found is None else f'{found:.4f}'])
        texts.append(
            'Act on the calibrated number. Where a stack filters raw scores by a threshold, these '
            'are the raw values that mean as much, by the map as it stands now.'
        )
        tables.append(Table('Thresholds', rows))
        texts.append('The map goes on learning, so look again after a while.')
    code = data.parameters or yaml.safe_dump(
        {'/**': {'ros__parameters': {'method': (data.state or {}).get('method', 'ops')}}}
    )
    known = 'used' if data.parameters else 'that follow from the state'
    texts.append(f'The parameters {known}:')
    return Section('use', question, texts, [], tables, code)
