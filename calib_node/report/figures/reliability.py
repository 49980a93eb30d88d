# SPDX-License-Identifier: Apache-2.0
"""The reliability diagram: what was said against how often it was so."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_node.report.figures.base import Figure, Palette
from calib_node.report.statistics import BINS, LEVEL, Side


def reliability_figure(name: str, which: str, side: Side) -> Figure:
    """Return the diagram of probabilities, binned and by isotonic regression, over their counts.

    Parameters
    ----------
    name : str
        raw or calibrated, which is its colour too.
    which : str
        What the probabilities are, in words.
    side : Side
        Their numbers.
    """

    def draw(canvas: Any, palette: Palette) -> None:
        colour = getattr(palette, name)
        curve, counts = canvas.subplots(2, 1, sharex=True, gridspec_kw={'height_ratios': (3.2, 1)})
        count, mean, frequency, low, high = side.bins.T
        curve.plot((0, 1), (0, 1), color=palette.muted, linestyle='--', linewidth=1)
        curve.vlines(
            mean, low, high, color=palette.band, linewidth=7, label=f'honest, {LEVEL:.0%} of times'
        )
        if len(side.stairs):
            style = {'color': colour, 'linewidth': 1.2, 'alpha': 0.7}
            curve.plot(*side.stairs.T, label='isotonic fit', **style)
        curve.scatter(
            mean,
            frequency,
            16.0 + 120.0 * np.sqrt(count / count.max()),
            color=colour,
            marker='o' if name == 'raw' else 's',
            zorder=3,
            clip_on=False,
            label=f'{which}, in bins',
        )
        curve.set(xlim=(0, 1), ylim=(0, 1), ylabel='how often it was so')
        legend = curve.legend(loc='upper left', fontsize=9)
        for handle in legend.legend_handles:
            if hasattr(handle, 'set_sizes'):
                handle.set_sizes([40.0])
        places = np.minimum((mean * BINS).astype(int), BINS - 1) / BINS
        counts.bar(places, count, 0.92 / BINS, align='edge', color=colour)
        counts.set(xlabel='what was said (probability)', ylabel='count')

    table = [['said', 'was', 'honest from', 'to', 'count']]
    for count, mean, frequency, low, high in side.bins.tolist():
        table.append(
            [f'{mean:.3f}', f'{frequency:.3f}', f'{low:.3f}', f'{high:.3f}', f'{count:,.0f}']
        )
    outside = sum(not low <= was <= high for _, _, was, low, high in side.bins.tolist())
    return Figure(
        f'reliability-{name}',
        f'Reliability diagram, {which}',
        f'{outside} of {len(side.bins)} bins lie outside the band of honest probabilities; '
        f'expected calibration error {side.ece:.3f}',
        table,
        draw,
        (5.2, 5.8),
    )
