# SPDX-License-Identifier: Apache-2.0
"""The page, from what is known."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from calib_node.report.data import ReportData, ReportError
from calib_node.report.figures.base import Figure, import_matplotlib
from calib_node.report.sections import Section, sections_of


def write_report(path: Path, data: ReportData) -> None:
    """Write the page: one file that needs no other.

    Raises
    ------
    ReportError
        If jinja2 or matplotlib is not installed, or the file cannot be written.
    """
    text = make_page(data.title, data.source, sections_of(data))
    try:
        path.write_text(text, encoding='utf-8')
    except OSError as error:
        raise ReportError(f'{path} cannot be written: {error.strerror}') from None


def make_page(title: str, source: str, sections: list[Section]) -> str:
    """Return the page as HTML."""
    import_matplotlib()
    template = _jinja().from_string(
        (files('calib_node.report') / 'page.html').read_text(encoding='utf-8')
    )
    text: str = template.render(title=title, source=source, sections=sections)
    return text


def _jinja() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ReportError(
            'a report needs jinja2: pip install calib_node[report], or apt install python3-jinja2'
        ) from None
    return jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)


def write_figures(folder: Path, data: ReportData) -> list[Path]:
    """Write the figures as PNGs; return the files.

    Raises
    ------
    ReportError
        If matplotlib is not installed, or one cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [figure.write_png(folder) for figure in figures_of(data)]
    except OSError as error:
        raise ReportError(f'{folder} cannot be written to: {error.strerror}') from None


def figures_of(data: ReportData) -> list[Figure]:
    """Return all figures of a report."""
    return [figure for section in sections_of(data) for figure in section.figures]
