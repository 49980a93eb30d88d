# SPDX-License-Identifier: Apache-2.0
"""Values that were computed independently, and the streams that they are of."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).with_name('reference')


@cache
def reference(name: str) -> dict[str, Any]:
    """Return the values of that name; they are shared and must not be changed."""
    return json.loads((FOLDER / f'{name}.json').read_text(encoding='utf-8'))


class Stream(NamedTuple):
    """What a classifier said, the labels, and what methods made of it, where that is known."""

    p: list[float]
    y: list[int]
    columns: dict[str, list[float]]

    @property
    def samples(self) -> list[tuple[float, int]]:
        return list(zip(self.p, self.y))


@cache
def phishing() -> Stream:
    """The one stream that is small: its tree knows two probabilities."""
    stored = reference('phishing')
    p = [stored['values'][int(digit)] for digit in ''.join(stored['p'])]
    return Stream(p, [int(digit) for digit in ''.join(stored['y'])], {})


def read_stream(name: str, shared_data: Callable[[str], Path]) -> Stream:
    """Return a stream, or skip the test where it is not here."""
    return phishing() if name == 'phishing' else _read(shared_data(f'stream_{name}.csv'))


@cache
def _read(path: Path) -> Stream:
    table = np.loadtxt(path, delimiter=',', skiprows=1).T
    columns = dict(zip(('ops', 'tops', 'beta'), table[2:].tolist()))
    return Stream(table[0].tolist(), table[1].astype(int).tolist(), columns)
