# SPDX-License-Identifier: Apache-2.0
"""Reads the table of matches that calib_replay writes."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calib_node.report.data import Floats, ReportError, Samples

CONTEXT = 'context.'
OF_CLASS = re.compile(r'(raw|published)\.(\d+)')


def read_samples(path: Path) -> Samples:
    """Return the matches of a .csv or .parquet file.

    Raises
    ------
    ReportError
        If it cannot be read or is no table of matches; the sentence names the line or the column.
    """
    if not path.is_file():
        raise ReportError(
            f'--samples {path}: there is no such file; calib_replay --samples makes it'
        )
    columns = _parquet(path) if path.suffix == '.parquet' else _csv(path)
    names = list(columns)
    for name in ('stamp', 'label'):
        if name not in columns:
            raise ReportError(
                f'--samples {path}: it has no column {name!r} (it has {", ".join(names)}); a table '
                'of matches is what calib_replay --samples writes'
            )
    stamp = _whole(path, 'stamp', columns['stamp'])
    label = _whole(path, 'label', columns['label'])
    raw, published = (_probabilities(path, side, columns) for side in ('raw', 'published'))
    classes = 2 if raw.ndim == 1 else raw.shape[1]
    if raw.shape != published.shape:
        raise ReportError(
            f'--samples {path}: raw and published are of different numbers of classes'
        )
    wrong = np.flatnonzero((label < 0) | (label >= classes))
    if wrong.size:
        raise _bad(path, 'label', int(wrong[0]), label[wrong[0]], f'0 to {classes - 1}')
    delay = _numbers(path, 'delay', columns['delay']) if 'delay' in columns else None
    contexts = {
        name.removeprefix(CONTEXT): [str(value or '') for value in columns[name]]
        for name in names
        if name.startswith(CONTEXT)
    }
    return Samples(stamp, raw, published, label, delay, contexts)


def _csv(path: Path) -> dict[str, Sequence[Any]]:
    try:
        with path.open(encoding='utf-8', newline='') as file:
            rows = csv.reader(file, strict=True)
            header = next(rows, [])
            table = [*rows]
    except (OSError, ValueError, csv.Error) as error:
        raise ReportError(f'--samples {path} cannot be read: {_said(error)}') from None
    for number, row in enumerate(table, 2):
        if len(row) != len(header):
            raise ReportError(
                f'--samples {path}, line {number}: it has {len(row)} values and the header has '
                f'{len(header)}; the file may be cut short'
            )
    columns = [*zip(*table)] if table else [()] * len(header)
    return dict(zip(header, columns))


def _parquet(path: Path) -> dict[str, Sequence[Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ReportError(
            f'--samples {path} needs pyarrow: pip install calib_node[parquet], or take a .csv file'
        ) from None
    try:
        table: dict[str, Sequence[Any]] = parquet.read_table(path).to_pydict()
    except Exception as error:
        raise ReportError(f'--samples {path} cannot be read: {_said(error)}') from None
    return table


def _said(error: Exception) -> str:
    return ' '.join(str(error).split()) or type(error).__name__


def _probabilities(path: Path, side: str, columns: dict[str, Sequence[Any]]) -> Floats:
    names = [name for name in columns if name == side]
    names += sorted(
        (n for n in columns if (m := OF_CLASS.fullmatch(n)) and m[1] == side),
        key=lambda name: int(name.rpartition('.')[2]),
    )
    if not names:
        raise ReportError(
            f'--samples {path}: it has no column {side!r} (it has {", ".join(columns)}); a table '
            'of matches is what calib_replay --samples writes'
        )
    each = []
    for name in names:
        values = _numbers(path, name, columns[name])
        wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
        if wrong.size:
            raise _bad(path, name, int(wrong[0]), values[wrong[0]], 'a probability')
        each.append(values)
    return each[0] if len(each) == 1 else np.stack(each, axis=1)


def _numbers(path: Path, name: str, values: Sequence[Any]) -> Floats:
    found = np.empty(len(values))
    for index, value in enumerate(values):
        try:
            found[index] = float('nan') if value in ('', None) else float(value)
        except (TypeError, ValueError):
            raise _bad(path, name, index, value, 'a number') from None
    return found


def _whole(path: Path, name: str, values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    found = np.empty(len(values), np.int64)
    for index, value in enumerate(values):
        try:
            found[index] = int(value)
        except (TypeError, ValueError, OverflowError):
            raise _bad(path, name, index, value, 'a whole number') from None
    return found


def _bad(path: Path, name: str, index: int, value: object, wanted: str) -> ReportError:
    shown = value.item() if isinstance(value, np.generic) else value
    return ReportError(
        f'--samples {path}, line {index + 2}: {name} must be {wanted}, not {shown!r}'
    )
