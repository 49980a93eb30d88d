# SPDX-License-Identifier: Apache-2.0
"""What a frozen model says of rows; seven such streams, and two of a forest that are files."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, tree
from river.datasets import synth
from runs import Samples

Rows = Iterable[tuple[dict[str, float], Any]]
Stream = tuple[list[float], list[int]]
"""Probabilities and labels."""

ROWS = 5000
"""Samples of a stream, where it has so many."""

FILES = {
    'elec2': (
        ('electricity.csv', 'stream_elec2.csv'),
        'OpenML 151, electricity: electricity.csv as river.datasets.Elec2().download() fetches '
        'it, or a CSV of p_raw,label made from it',
    ),
    'bank': (
        ('paper_bank_rf_seed0.csv', 'bank.csv'),
        'UCI Bank Marketing: a CSV of p_raw,label from a forest of 1000 trees',
    ),
    'credit': (
        ('paper_credit_rf_seed0.csv', 'credit.csv'),
        'UCI Default of Credit Card Clients: a CSV of p_raw,label from a forest of 1000 trees',
    ),
}
"""Names under which a folder is searched for what river does not ship, and where it comes from."""


def frozen(
    rows: Rows,
    count: int,
    seed: int,
    first: int | None = None,
    learns: int = 500,
    model: Any = None,
) -> Stream:
    """Return what a model says that has learned some of the first samples and learns no more.

    So its probabilities grow worse where the stream drifts. Without a model it is a Hoeffding
    tree; without `first` it learns of the first half of `count`.
    """
    data = [(x, int(y)) for x, y in islice(rows, count)]
    model = model or tree.HoeffdingTreeClassifier()
    early = data[: first or count // 2]
    for x, y in random.Random(seed).sample(early, min(learns, len(early))):
        model.learn_one(x, y)
    answers = [model.predict_proba_one(x) for x, _ in data]
    return [answer.get(1, 0.0) if answer else 0.5 for answer in answers], [y for _, y in data]


def pieces(streams: Iterable[Rows], ends: Iterable[int]) -> Rows:
    """Yield the first stream up to the first end, the next up to the next, and so on."""
    for stream, (start, end) in zip(streams, pairwise((0, *ends)), strict=True):
        yield from islice(stream, end - start)


def table(x: Any, y: Any) -> Rows:
    """Yield the rows of two arrays."""
    return ((dict(enumerate(row)), label) for row, label in zip(x.tolist(), y, strict=True))


def drift(before: Rows, after: Rows) -> Rows:
    """Change from one stream to the other around the middle."""
    return synth.ConceptDriftStream(before, after, seed=3, position=2500, width=500)


STREAMS: dict[str, Callable[[], Rows]] = {
    'phishing': datasets.Phishing,
    'bananas': datasets.Bananas,
    'sea_drift': lambda: drift(synth.SEA(variant=0, seed=1), synth.SEA(variant=3, seed=2)),
    'agrawal_drift': lambda: drift(synth.Agrawal(0, seed=1), synth.Agrawal(4, seed=2)),
    'hyperplane': lambda: synth.Hyperplane(
        seed=1, n_features=10, n_drift_features=5, mag_change=0.01
    ),
    'sine_drift': lambda: drift(synth.Sine(0, seed=1), synth.Sine(2, seed=2)),
}
"""Streams that river ships or generates."""

NAMES = ('phishing', 'elec2', *list(STREAMS)[1:], 'bank', 'credit')


def read_elec2(path: Path) -> Rows:
    """Yield features and label as river does from the file that it downloads."""
    with path.open(newline='') as file:
        for row in csv.DictReader(file):
            label = row.pop('class') == 'UP'
            yield {name: int(v) if name == 'day' else float(v) for name, v in row.items()}, label


def find(name: str, folder: Path | None) -> Path | None:
    """Return the file of a stream in a folder, if it is there."""
    paths = [folder / file for file in FILES[name][0]] if folder else []
    return next((path for path in paths if path.is_file()), None)


def load(name: str, path: Path | None = None, count: int | None = None) -> Samples:
    """Return a stream of at most `count` samples; `path` for those that river does not ship."""
    if path is None:
        return Samples(name, *frozen(STREAMS[name](), count or ROWS, 42, ROWS // 2))
    with path.open() as file:
        probabilities = file.readline().startswith('p_raw,label')
    if not probabilities and name == 'elec2':
        return Samples(name, *frozen(read_elec2(path), count or ROWS, 42, ROWS // 2))
    if not probabilities:
        raise SystemExit(f'{path} must start with a line p_raw,label: {FILES[name][1]}')
    count = count or {'elec2': ROWS, 'credit': 12_000}.get(name)
    table = np.loadtxt(path, delimiter=',', skiprows=1, usecols=(0, 1), max_rows=count)
    return Samples(name, table[:, 0].tolist(), table[:, 1].astype(int).tolist())
