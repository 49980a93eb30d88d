# SPDX-License-Identifier: Apache-2.0
"""The reliability diagram as a PNG, where matplotlib is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.metrics import ece, reliability
from calib_node.tools.summary import BINS

# Told apart in the common forms of colour blindness, and in grey by their markers.
STYLES = {'raw': ('#d1495b', 'o'), 'calibrated': ('#00798c', 's')}


def write_png(
    path: Path, title: str, raw: ArrayLike, calibrated: ArrayLike, labels: ArrayLike
) -> bool:
    """Draw the reliability curves over a histogram of the probabilities.

    Parameters
    ----------
    path : Path
        File to write.
    title : str
        What the data is.
    raw, calibrated : array_like of float, shape (n,)
        Probabilities before and after calibration.
    labels : array_like of int, shape (n,)
        Labels, 0 or 1.

    Returns
    -------
    bool
        False if matplotlib is not installed, and nothing was written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    # Agg by name: no display is needed, and pyplot's global state is left alone.
    figure = Figure(figsize=(6.4, 7.6), layout='constrained')
    FigureCanvasAgg(figure)
    curves, counts = figure.subplots(2, 1, sharex=True, gridspec_kw={'height_ratios': (3.4, 1)})
    curves.plot((0, 1), (0, 1), color='0.55', linestyle='--', linewidth=1, label='honest')
    left = np.arange(BINS) / BINS
    width = 0.5 / BINS
    for side, (name, p) in enumerate((('raw', raw), ('calibrated', calibrated))):
        colour, marker = STYLES[name]
        diagram = reliability(p, labels, BINS)
        filled = diagram.count > 0
        mean, frequency = diagram.mean[filled], diagram.frequency[filled]
        area = 20.0 + 180.0 * diagram.count[filled] / diagram.count.max()
        curves.plot(mean, frequency, color=colour, linewidth=1.2, alpha=0.45)
        curves.scatter(
            mean,
            frequency,
            area,
            color=colour,
            marker=marker,
            edgecolor='white',
            linewidth=0.8,
            zorder=3,
            clip_on=False,
            label=f'{name}, ECE {ece(p, labels, BINS):.3f}',
        )
        counts.bar(left + side * width, diagram.count, 0.92 * width, align='edge', color=colour)
    curves.set(xlim=(0, 1), ylim=(0, 1), ylabel='how often it was so (observed frequency)')
    curves.set_title(title, loc='left', fontsize='medium', pad=14)
    legend = curves.legend(
        loc='upper left',
        frameon=False,
        labelspacing=0.8,
        title='larger: more predictions',
        alignment='left',
    )
    for handle in legend.legend_handles[1:]:
        handle.set_sizes([50.0])
    counts.set(xlabel='what was said (predicted probability)', ylabel='predictions')
    for axes in (curves, counts):
        axes.grid(color='0.92')
        axes.set_axisbelow(True)
        axes.spines[['top', 'right']].set_visible(False)
    figure.savefig(path, dpi=150)
    return True
