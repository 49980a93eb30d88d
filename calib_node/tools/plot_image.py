# SPDX-License-Identifier: Apache-2.0
"""The reliability diagrams of a node as a picture of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 640, 480
RAW, CALIBRATED, GREY = '#c03b4f', '#00687a', '#5b666b'

Bins = Sequence[tuple[float, float, float]]
"""Count, mean probability and frequency of each bin."""


class Picture:
    """Draws into one figure again and again.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """

    def __init__(self) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self._figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, layout='constrained')
        self._canvas: Any = FigureCanvasAgg(self._figure)

    def diagram(self, title: str, raw: Bins, calibrated: Bins, errors: str) -> NDArray[np.uint8]:
        """Return the diagram as RGB, shape (HEIGHT, WIDTH, 3).

        Parameters
        ----------
        title : str
            Which node it is of.
        raw, calibrated : sequence of tuple
            The bins.
        errors : str
            The errors in words.
        """
        self._figure.clear()
        curves, counts = self._figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
        curves.plot((0, 1), (0, 1), color=GREY, linestyle='--', linewidth=1)
        for offset, name, bins, colour, marker in (
            (0.0, 'raw', raw, RAW, 'o'),
            (0.5, 'calibrated', calibrated, CALIBRATED, 's'),
        ):
            table = np.array(bins, np.float64).reshape(-1, 3)
            width = 1.0 / max(len(table), 1)
            filled = table[:, 0] > 0
            count, mean, frequency = table[filled].T
            largest = count.max() if count.size else 1.0
            curves.scatter(
                mean, frequency, 15.0 + 120.0 * np.sqrt(count / largest),
                color=colour, marker=marker, label=name, clip_on=False, zorder=3,
            )  # fmt: skip
            left = np.flatnonzero(filled) * width + offset * width
            counts.bar(left, count, 0.46 * width, align='edge', color=colour)
        curves.set(xlim=(0, 1), ylim=(0, 1), ylabel='how often it was so')
        curves.set_title(f'{title}\n{errors}', loc='left', fontsize=10)
        curves.legend(loc='upper left', frameon=False)
        counts.set(xlabel='what was said (probability)', ylabel='count')
        for axes in (curves, counts):
            axes.grid(color='0.9')
            axes.set_axisbelow(True)
        return self._pixels()

    def message(self, text: str) -> NDArray[np.uint8]:
        """Return a picture of a text, of the same shape."""
        self._figure.clear()
        self._figure.text(0.5, 0.5, text, ha='center', va='center', fontsize=12, wrap=True)
        return self._pixels()

    def _pixels(self) -> NDArray[np.uint8]:
        self._canvas.draw()
        return np.ascontiguousarray(np.asarray(self._canvas.buffer_rgba())[:, :, :3])
