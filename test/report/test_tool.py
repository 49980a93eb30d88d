# SPDX-License-Identifier: Apache-2.0
"""calib_report: from a table of matches, from a state file, and what it says of bad ones."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_node.core.state.document import FORMAT, to_yaml
from calib_node.report.samples import read_samples
from calib_node.tools.report import main

from .pages import Page, classes, learned

Capture = pytest.CaptureFixture[str]
HEADER = ['stamp', 'key', 'raw', 'published', 'label', 'delay']


def table(path: Path, rows: list[list[Any]], header: list[str] = HEADER) -> Path:
    with path.open('w', newline='') as file:
        csv.writer(file).writerows([header, *rows])
    return path


def good(count: int = 50) -> list[list[Any]]:
    samples, _ = learned(count)
    columns = (samples.stamp, samples.raw, samples.published, samples.label, samples.delay)
    return [
        [s, '', repr(p), repr(q), y, d] for s, p, q, y, d in zip(*(c.tolist() for c in columns))
    ]


def state_file(path: Path) -> Path:
    _, state = learned(200)
    path.write_text(
        to_yaml({'format': FORMAT, 'version': 1, 'node': '/n', **state, 'saved_at': 'now'})
    )
    return path


def test_from_a_table_and_a_state(tmp_path: Path, capsys: Capture):
    page, figures = tmp_path / 'page.html', tmp_path / 'figures'
    given = ['--samples', table(tmp_path / 's.csv', good()), '--state', state_file(tmp_path / 'y')]
    given += ['--output', page, '--figures', figures, '--title', 'Is the door open?']
    assert main([*map(str, given)]) == 0
    assert str(page) in capsys.readouterr().out
    text = Page(page.read_text()).text
    assert 'Is the door open?' in text
    assert 'They rest on 50 matches' in text
    assert 'Method ops, 200 labels learned' in text
    assert len([*figures.glob('*.png')]) == 4


def test_a_table_is_read_to_the_bit(tmp_path: Path):
    samples, _ = learned(50)
    read = read_samples(table(tmp_path / 's.csv', good()))
    for name in ('stamp', 'raw', 'published', 'label', 'delay'):
        assert np.array_equal(getattr(read, name), getattr(samples, name)), name


def test_a_table_of_classes_and_contexts(tmp_path: Path):
    samples, _ = classes(20)
    header = ['stamp', 'key', 'context.class', *(f'raw.{k}' for k in range(3))]
    header += [*(f'published.{k}' for k in range(3)), 'label', 'delay']
    rows = [
        [s, 'id', 'car', *p, *q, y, '']
        for s, p, q, y in zip(samples.stamp, samples.raw, samples.published, samples.label)
    ]
    read = read_samples(table(tmp_path / 's.csv', rows, header))
    assert np.array_equal(read.raw, samples.raw)
    assert read.contexts == {'class': ['car'] * 20}
    assert np.isnan(read.delay).all()


def changed(index: int, column: str, value: Any) -> list[list[Any]]:
    rows = good(5)
    rows[index][HEADER.index(column)] = value
    return rows


@pytest.mark.parametrize(
    ('rows', 'words'),
    [
        (changed(2, 'raw', 'x'), ('line 4', 'raw', "'x'")),
        (changed(2, 'raw', 'nan'), ('line 4', 'raw', 'a probability')),
        (changed(0, 'published', '1.5'), ('line 2', 'published', '1.5')),
        (changed(4, 'label', '2'), ('line 6', 'label', '0 to 1')),
        (changed(1, 'label', ''), ('line 3', 'label', 'a whole number')),
        (changed(1, 'stamp', 'soon'), ('line 3', 'stamp')),
        ([*good(3), ['1', '2']], ('line 5', 'cut short')),
    ],
)
def test_bad_values(tmp_path: Path, capsys: Capture, rows: list[Any], words: tuple[str, ...]):
    path = table(tmp_path / 's.csv', rows)
    assert main(['--samples', str(path), '--output', str(tmp_path / 'page.html')]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith(f'calib_report: --samples {path}')
    for word in words:
        assert word in sentence
    assert not (tmp_path / 'page.html').exists()


@pytest.mark.parametrize('column', ['stamp', 'raw', 'published', 'label'])
def test_a_column_that_is_missing(tmp_path: Path, capsys: Capture, column: str):
    place = HEADER.index(column)
    rows = [row[:place] + row[place + 1 :] for row in good(3)]
    path = table(tmp_path / 's.csv', rows, [name for name in HEADER if name != column])
    assert main(['--samples', str(path)]) == 1
    assert f"it has no column '{column}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        (('--samples', 'absent.csv'), 'no such file'),
        (('--samples', 'bytes.csv'), 'cannot be read'),
        (('--samples', 'bytes.parquet'), 'cannot be read'),
        (('--state', 'absent.yaml'), 'no such file'),
        (('--state', 'bytes.csv'), 'cannot be used'),
        (('--state', 'state.yaml', '--params-file', 'absent.yaml'), 'cannot be read'),
        (('--state', 'state.yaml', '--output', 'no/folder/page.html'), 'cannot be written'),
        (('--state', 'state.yaml', '--figures', 'bytes.csv'), 'cannot be written'),
    ],
)
def test_bad_files(
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    given: tuple[str, ...],
    words: str,
):
    if given[1].endswith('.parquet'):
        pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    monkeypatch.chdir(tmp_path)
    state_file(tmp_path / 'state.yaml')
    for name in ('bytes.csv', 'bytes.parquet'):
        (tmp_path / name).write_bytes(b'\xff\xfe\x00garbage')
    assert main([*given]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert words in sentence


def test_nothing_to_report_on(capsys: Capture):
    with pytest.raises(SystemExit):
        main([])
    assert '--samples, --state or --node' in capsys.readouterr().err
