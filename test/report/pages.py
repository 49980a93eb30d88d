# SPDX-License-Identifier: Apache-2.0
"""Samples to report on, and a look at a page as a browser takes it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np

from calib_node.core.calibrators import create, create_multiclass
from calib_node.report.data import ReportData, Samples

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def learned(count: int, seed: int = 1) -> tuple[Samples, dict[str, Any]]:
    """Return matches of an overconfident classifier with what ops published, and its state."""
    rng, calibrator = np.random.default_rng(seed), create('ops')
    raw = rng.beta(0.3, 0.3, size=count)
    label = (rng.uniform(size=count) < 0.2 + 0.6 * raw).astype(np.int64)
    published = np.empty(count)
    for index, (p, y) in enumerate(zip(raw.tolist(), label.tolist())):
        published[index], ticket = calibrator.issue(p)
        calibrator.update(p, y, ticket)
    stamp = START + np.arange(count) * (SECOND // 10)
    contexts = {'class': [('car', 'bus')[k % 2] for k in range(count)]}
    delay = rng.uniform(0.1, 2.0, size=count)
    return Samples(stamp, raw, published, label, delay, contexts), calibrator.state()


def classes(count: int) -> tuple[Samples, dict[str, Any]]:
    """Return matches of three classes."""
    rng, calibrator = np.random.default_rng(3), create_multiclass('temperature', 3)
    raw = rng.dirichlet([0.3, 0.3, 0.3], size=count)
    label = np.array([rng.choice(3, p=0.2 / 3 + 0.8 * p) for p in raw], np.int64)
    published = np.empty_like(raw)
    for index, (p, y) in enumerate(zip(raw, label.tolist())):
        published[index], ticket = calibrator.issue(p)
        calibrator.update(p, y, ticket)
    stamp = np.arange(count) * SECOND
    return Samples(stamp, raw, published, label), calibrator.state()


def data(count: int = 2000, **more: Any) -> ReportData:
    """Return all that a report may be made of."""
    samples, state = learned(count)
    figures = {'predictions': str(2 * count), 'labels': str(count), 'matched': str(count)}
    path = [(START + n, {'a': 1.0 - n / 9, 'b': n / 9, 'updates': n}) for n in range(9)]
    given = {'figures': figures, 'state': state, 'path': path, 'parameters': 'gamma: 0.1\n', **more}
    return ReportData('Is it so?', 'A test', samples, **given)


class Page(HTMLParser):
    """Reads a page.

    Attributes
    ----------
    ids : list of str
    text : str
        Without tags, style and scripts.
    svgs : list of dict
        Attributes of each figure.
    links : list of str
        Whatever would be loaded from elsewhere.
    open : list of str
        Elements that are not closed; empty at the end of a sound page.
    """

    VOID = ('meta', 'br', 'link', 'img', 'hr')

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.svgs: list[dict[str, Any]] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self._text: list[str] = []
        self.feed(html)
        self.close()
        self.text = ' '.join(' '.join(self._text).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if 'id' in given:
            self.ids.append(given['id'])
        if tag == 'svg':
            self.svgs.append(given)
        for name in ('src', 'href', 'xlink:href', 'data'):
            value = given.get(name)
            if value and not value.startswith('#'):
                self.links.append(value)
        if tag == 'script' or any(name.startswith('on') for name in given):
            self.links.append(tag)
        if tag == 'table':
            self.tables.append([])
        if tag == 'tr':
            self.tables[-1].append([])
        if tag in ('td', 'th'):
            self.tables[-1][-1].append('')
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if 'style' in self.open or 'svg' in self.open:
            return
        self._text.append(data)
        if self.open and self.open[-1] in ('td', 'th'):
            self.tables[-1][-1][-1] += data

    def table(self, header: str) -> list[list[str]]:
        """Return the table whose first row holds a word."""
        return next(table for table in self.tables if header in table[0])
