# SPDX-License-Identifier: Apache-2.0
"""Figures of lines: the log-loss over time, the map, what was learned over time, the delays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calib_node.report.data import Floats
from calib_node.report.figures.base import Figure, Palette

SHOWN = 12
"""So many rows at most stand for a line in its table."""


def loss_figure(ends: Sequence[int], raw: Sequence[float], calibrated: Sequence[float]) -> Figure:
    """Return the mean log-loss of stretches of matches, each given by where it ends."""

    def draw(canvas: Any, palette: Palette) -> None:
        axes = canvas.subplots()
        style = {'linewidth': 1.8, 'drawstyle': 'steps-pre'}
        starts = [0, *ends]
        for values, colour, dash, label in (
            (raw, palette.raw, '--', 'raw'),
            (calibrated, palette.calibrated, '-', 'calibrated'),
        ):
            axes.plot(
                starts, [values[0], *values], color=colour, linestyle=dash, label=label, **style
            )
        axes.set(xlabel='labels, in the order of learning', ylabel='log-loss', ylim=(0, None))
        axes.legend(loc='best', fontsize=9)

    rows = [[f'{e:,}', f'{r:.4f}', f'{c:.4f}'] for e, r, c in zip(ends, raw, calibrated)]
    better = sum(c < r for r, c in zip(raw, calibrated))
    return Figure(
        'over-time',
        'Log-loss over time, raw and calibrated',
        f'calibrated is lower in {better} of {len(rows)} stretches',
        [['up to label', 'raw', 'calibrated'], *_some(rows)],
        draw,
        (6.4, 3.4),
    )


def map_figure(predict: Callable[[float], float], p: Floats | None) -> Figure:
    """Return the map from raw to calibrated, with where the raw probabilities were."""
    grid = np.linspace(0.0, 1.0, 401)
    mapped = np.array([predict(value) for value in grid.tolist()])

    def draw(canvas: Any, palette: Palette) -> None:
        axes = canvas.subplots()
        axes.plot((0, 1), (0, 1), color=palette.muted, linestyle='--', linewidth=1)
        axes.plot(grid, mapped, color=palette.calibrated, linewidth=2)
        if p is not None and len(p):
            counts, edges = np.histogram(p, 50, (0.0, 1.0))
            heights = 0.12 * counts / counts.max()
            axes.bar(
                edges[:-1], heights, 0.018, align='edge', color=palette.raw, label='raw, how many'
            )
            axes.legend(loc='upper left', fontsize=9)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel='raw', ylabel='calibrated')

    rows = [[f'{x:.2f}', f'{predict(x):.4f}'] for x in np.linspace(0.0, 1.0, 11).tolist()]
    return Figure(
        'map',
        'The map that was learned',
        f'.1 becomes {predict(0.1):.3f}, .5 becomes {predict(0.5):.3f}, .9 becomes '
        f'{predict(0.9):.3f}',
        [['raw', 'calibrated'], *rows],
        draw,
        (4.6, 4.4),
    )


def path_figure(names: Sequence[str], updates: Sequence[int], values: Floats) -> Figure:
    """Return what was learned over the labels: values of shape (n, number of names)."""

    def draw(canvas: Any, palette: Palette) -> None:
        axes = canvas.subplots()
        styles = ('-', '--', ':', '-.')
        for index, name in enumerate(names):
            axes.plot(
                updates,
                values[:, index],
                color=palette.calibrated if index % 2 == 0 else palette.raw,
                linestyle=styles[index % len(styles)],
                linewidth=1.8,
                label=name,
            )
        axes.set(xlabel='labels learned', ylabel='value')
        axes.legend(loc='best', fontsize=9)

    rows = [
        [f'{update:,}', *(f'{value:.4f}' for value in row)]
        for update, row in zip(updates, values.tolist())
    ]
    last = ', '.join(f'{name} {value:.3f}' for name, value in zip(names, values[-1].tolist()))
    return Figure(
        'learned',
        'What was learned over time',
        f'at the end {last}',
        [['labels', *names], *_some(rows)],
        draw,
        (6.4, 3.2),
    )


def delay_figure(delay: Floats) -> Figure:
    """Return how late labels were, in seconds."""
    quantiles = np.quantile(delay, [0.0, 0.05, 0.5, 0.95, 1.0])

    def draw(canvas: Any, palette: Palette) -> None:
        axes = canvas.subplots()
        top = quantiles[3] * 1.25 if quantiles[3] > 0.0 else quantiles[4] or 1.0
        shown = np.clip(delay, min(quantiles[0], 0.0), top)
        axes.hist(shown, 40, color=palette.calibrated)
        axes.set(xlabel='seconds (the last bar: and later)', ylabel='labels')

    names = ('least', '5 %', 'half', '95 %', 'most')
    return Figure(
        'delays',
        'From the observation to the learning of its label',
        f'half of them within {quantiles[2]:.2f} s, 95 % within {quantiles[3]:.2f} s',
        [['share of labels', 'seconds'], *([n, f'{q:.3f}'] for n, q in zip(names, quantiles))],
        draw,
        (5.2, 2.8),
    )


def _some(rows: list[list[str]]) -> list[list[str]]:
    """Return some of the rows, the first and the last among them."""
    if len(rows) <= SHOWN:
        return rows
    return [rows[round(i * (len(rows) - 1) / (SHOWN - 1))] for i in range(SHOWN)]
