# SPDX-License-Identifier: Apache-2.0
"""The streams: probabilities of a classifier and labels, in order."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, tree
from river.datasets import synth

Rows = Iterable[tuple[dict[str, float], Any]]

ROWS = 5000
"""Samples of a stream that river ships."""
LENGTHS = {'elec2': ROWS, 'credit': 12_000}
"""First samples of a file, where not all are used."""

ORIGINS = {
    'elec2': 'OpenML 151, electricity: electricity.csv as river.datasets.Elec2().download() '
    'fetches it, or a CSV of p_raw,label made from it',
    'bank': 'UCI Bank Marketing: a CSV of p_raw,label from a forest of 1000 trees',
    'credit': 'UCI Default of Credit Card Clients: a CSV of p_raw,label from a forest of 1000 '
    'trees',
    'cifar': 'CIFAR-10 outputs: .npz of EFS-OpenSource/calibration-framework (predictions, '
    'ground_truth) or of AIgen/df-posthoc-calibration (logits, labels)',
}
"""Where each file that is not part of river comes from."""

PATTERNS = {
    'elec2': ('electricity.csv', 'stream_elec2.csv'),
    'bank': ('paper_bank_rf_seed0.csv', 'bank.csv'),
    'credit': ('paper_credit_rf_seed0.csv', 'credit.csv'),
    'cifar': ('*cifar*10*.npz',),
}
"""Names under which a folder is searched for the files."""


@dataclass(frozen=True)
class Samples:
    """A stream as the calibrators see it."""

    name: str
    p: list[float]
    y: list[int]

    def __len__(self) -> int:
        return len(self.p)


def drift(before: Rows, after: Rows) -> Rows:
    """Change from one stream to the other around the middle."""
    return synth.ConceptDriftStream(before, after, seed=3, position=2500, width=500)


def read_elec2(path: Path) -> Rows:
    """Yield features and label as river does from the file that it downloads."""
    with path.open(newline='') as file:
        for row in csv.DictReader(file):
            label = row.pop('class') == 'UP'
            yield {name: int(v) if name == 'day' else float(v) for name, v in row.items()}, label


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


def frozen_tree(name: str, rows: Rows, count: int = ROWS) -> Samples:
    """Return what a Hoeffding tree says that has learned 500 samples of the first half.

    It learns nothing more, so that its probabilities grow worse where the stream drifts.
    """
    data = list(islice(rows, count))
    model = tree.HoeffdingTreeClassifier()
    first = data[: ROWS // 2]
    for x, y in random.Random(42).sample(first, min(500, len(first))):
        model.learn_one(x, y)
    answers = [model.predict_proba_one(x) for x, _ in data]
    p = [answer.get(True, 1.0 - answer.get(False, 0.5)) for answer in answers]
    return Samples(name, p, [int(y) for _, y in data])


def is_probabilities(path: Path) -> bool:
    """Tell whether a CSV holds p_raw,label and not features."""
    with path.open() as file:
        return file.readline().startswith('p_raw,label')


def read_probabilities(name: str, path: Path, count: int | None = None) -> Samples:
    """Read a CSV whose first columns are p_raw and label."""
    if not is_probabilities(path):
        raise SystemExit(f'{path} must start with a line p_raw,label: {ORIGINS[name]}')
    table = np.loadtxt(path, delimiter=',', skiprows=1, usecols=(0, 1), max_rows=count)
    return Samples(name, table[:, 0].tolist(), table[:, 1].astype(int).tolist())


def load(name: str, path: Path | None, count: int | None) -> Samples:
    """Return a stream of at most `count` samples; `path` for those that river does not ship."""
    if name in STREAMS:
        return frozen_tree(name, STREAMS[name](), count or ROWS)
    assert path is not None
    if name == 'elec2' and not is_probabilities(path):
        return frozen_tree(name, read_elec2(path), count or ROWS)
    return read_probabilities(name, path, count or LENGTHS.get(name))


def find(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield what a folder has of the files, by their names."""
    for what, patterns in PATTERNS.items():
        for pattern in patterns:
            found = sorted(folder.glob(pattern))
            yield from ((what, path) for path in found)
            if found:
                break
