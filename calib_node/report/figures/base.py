# SPDX-License-Identifier: Apache-2.0
"""A figure for a page: drawn by matplotlib, in the colours of the page, light or dark."""

from __future__ import annotations

import html
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calib_node.report.data import ReportError

NAMES = ('ink', 'muted', 'grid', 'raw', 'calibrated', 'band')
LIGHT = dict(zip(NAMES, ('#1d2326', '#5b666b', '#d9dfe2', '#c03b4f', '#00687a', '#c9d2d6')))
# Colours that occur nowhere else, to be found again in the SVG.
MARKS = {name: f'#0a0b{number:02x}' for number, name in enumerate(NAMES)}
IDS = re.compile(r'(\bid="|url\(#|xlink:href="#)')


@dataclass
class Palette:
    """The colours to draw with."""

    ink: str
    muted: str
    grid: str
    raw: str
    calibrated: str
    band: str


FOR_PAGE, FOR_FILE = Palette(**MARKS), Palette(**LIGHT)


@dataclass
class Figure:
    """A figure with what is said in its place.

    Attributes
    ----------
    name : str
        Of its file, and in the page.
    title : str
        What it shows, in a line.
    alternative : str
        What is to be seen in it, in words.
    table : list of list of str
        Its numbers, the header first.
    draw : callable
        Draws it into an empty figure of matplotlib with a palette.
    size : tuple of float
        Width and height in inches.
    """

    name: str
    title: str
    alternative: str
    table: list[list[str]]
    draw: Any
    size: tuple[float, float] = (5.6, 4.2)

    def svg(self) -> str:
        """Return it as an SVG whose colours are variables of the page's style."""
        settings = {
            # Texts stay texts, in the font of the page.
            'svg.fonttype': 'none',
            'svg.hashsalt': self.name,
            'font.family': 'sans-serif',
            'font.size': 10,
        }
        buffer = io.StringIO()
        self._save(buffer, FOR_PAGE, settings, 'svg')
        text = buffer.getvalue()
        text = text[text.index('<svg') :]
        # Of several figures in a page the names within must not meet.
        text = IDS.sub(lambda found: f'{found[1]}{self.name}-', text)
        for name, mark in MARKS.items():
            text = text.replace(mark, f'var(--{name})')
        text = re.sub(r'\b(width|height)="[\d.]+pt"', '', text, count=2)
        label = html.escape(f'{self.title}. {self.alternative}', quote=True)
        return text.replace('<svg', f'<svg role="img" aria-label="{label}"', 1)

    def write_png(self, folder: Path) -> Path:
        """Write it as a picture; return the file."""
        path = folder / f'{self.name}.png'
        self._save(path, FOR_FILE, {'font.size': 10}, 'png')
        return path

    def _save(self, target: Any, palette: Palette, settings: dict[str, Any], kind: str) -> None:
        matplotlib = import_matplotlib()
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        with matplotlib.rc_context({**matplotlib.rcParamsDefault, **settings}):
            canvas = Canvas(figsize=self.size, layout='constrained')
            FigureCanvasAgg(canvas)
            self.draw(canvas, palette)
            for axes in canvas.axes:
                dress(axes, palette)
            metadata = {'Date': None, 'Creator': None} if kind == 'svg' else {}
            canvas.savefig(
                target, format=kind, dpi=150, transparent=kind == 'svg', metadata=metadata
            )


def dress(axes: Any, palette: Palette) -> None:
    """Give axes their colours and take away what says nothing."""
    axes.tick_params(colors=palette.muted, labelcolor=palette.ink)
    axes.grid(color=palette.grid, linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ('left', 'bottom'))
        spine.set_color(palette.muted)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set_color(palette.ink)
    legend = axes.get_legend()
    if legend is not None:
        legend.set_frame_on(False)
        for text in legend.get_texts():
            text.set_color(palette.ink)


def import_matplotlib() -> Any:
    """Return the library, or raise a ReportError that says how to install it."""
    try:
        import matplotlib
    except ImportError:
        raise ReportError(
            'a report needs matplotlib: pip install calib_node[report], or '
            'apt install python3-matplotlib'
        ) from None
    return matplotlib
