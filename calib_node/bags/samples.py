# SPDX-License-Identifier: Apache-2.0
"""The matches of a replay as a table, one row each, in the order of learning."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calib_node.bags.problems import RecordingError, one_line
from calib_node.bags.replay import Clock
from calib_node.core.samples import NANOSECONDS, Match
from calib_node.stream.figures import context_value
from calib_node.stream.input_parameters import ContextVariable

ROWS = 10_000
"""So many rows are written at once."""
CLOCKS_AGREE = 86_400
"""Seconds from a stamp to the recording of its label beyond which they are of different clocks."""


class SampleFile:
    """Writes each match that it is called with; used in a with statement.

    The columns are stamp (ns), key, context.<name> for each variable, raw and published, or one of
    each for every class, label, and delay: the seconds from the stamp to when the label was
    learned, by the recording's clock, empty where that is another one. Numbers read back to the
    bit.

    Parameters
    ----------
    path : Path
        Ends in .csv or .parquet.
    classes : int
        Number of probabilities in a prediction.
    contexts : sequence of ContextVariable
        The context variables.
    clock : Clock
        The time in the recording.

    Raises
    ------
    RecordingError
        If the file cannot be written, or pyarrow is not there for Parquet.
    """

    def __init__(
        self, path: Path, classes: int, contexts: Sequence[ContextVariable], clock: Clock
    ) -> None:
        self._path, self._clock = path, clock
        self._binary = classes == 1
        of_classes = [''] if self._binary else [f'.{k}' for k in range(classes)]
        self.columns = ['stamp', 'key', *(f'context.{one.name}' for one in contexts)]
        self._texts = len(self.columns)
        self.columns += [f'{name}{k}' for name in ('raw', 'published') for k in of_classes]
        self.columns += ['label', 'delay']
        self._contexts = contexts
        self._rows: list[Sequence[Any]] = []
        self._error: OSError | None = None
        try:
            self._write, self._end = self._open()
        except OSError as error:
            raise RecordingError(f'--samples {path} cannot be written: {one_line(error)}') from None

    def _open(self) -> tuple[Callable[[list[Sequence[Any]]], Any], Callable[[], None]]:
        if self._path.suffix == '.parquet':
            return self._open_parquet()
        if self._path.suffix != '.csv':
            raise RecordingError(f'--samples {self._path} must end in .csv or .parquet')
        file = self._path.open('w', encoding='utf-8', newline='')
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(self.columns)
        return writer.writerows, file.close

    def _open_parquet(self) -> tuple[Callable[[list[Sequence[Any]]], Any], Callable[[], None]]:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise RecordingError(
                f'--samples {self._path} needs pyarrow: pip install calib_node[parquet], '
                'or name a .csv file'
            ) from None
        kinds = [pyarrow.int64(), *[pyarrow.string()] * (self._texts - 1)]
        kinds += [pyarrow.float64()] * (len(self.columns) - self._texts - 2)
        kinds += [pyarrow.int64(), pyarrow.float64()]
        schema = pyarrow.schema(list(zip(self.columns, kinds)))
        writer = parquet.ParquetWriter(self._path, schema)

        def write(rows: list[Sequence[Any]]) -> None:
            arrays = [pyarrow.array(column, kind) for column, kind in zip(zip(*rows), kinds)]
            writer.write_table(pyarrow.table(arrays, schema=schema))

        return write, writer.close

    def __call__(self, match: Match[Any]) -> None:
        """Take in a match."""
        raw, published = match.raw, match.published
        numbers = (raw, published) if self._binary else (*raw.tolist(), *published.tolist())
        delay = (self._clock.time - match.stamp) / NANOSECONDS
        contexts = match.context or [None] * len(self._contexts)
        self._rows.append(
            (
                match.stamp,
                match.key,
                *(context_value(v, one.edges) for one, v in zip(self._contexts, contexts)),
                *numbers,
                match.label,
                delay if -CLOCKS_AGREE < delay < CLOCKS_AGREE else None,
            )
        )
        if len(self._rows) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows and self._error is None:
            try:
                self._write(rows)
            except OSError as error:
                # Whoever calls an observer goes on without it; the end tells.
                self._error = error

    def __enter__(self) -> SampleFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._flush()
        try:
            self._end()
        except OSError as problem:
            self._error = self._error or problem
        if self._error is not None:
            raise RecordingError(
                f'--samples {self._path} cannot be written: {one_line(self._error)}'
            )
