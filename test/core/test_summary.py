# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the demo: its recording, its figures, its diagrams, its progress."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

from calib_node.core.metrics import accuracy, brier, ece, log_loss
from calib_node.tools import progress
from calib_node.tools.figure import write_png
from calib_node.tools.recording import Sample, load_recording
from calib_node.tools.summary import (
    BAR_WIDTH,
    BINS,
    can_encode,
    diagram_lines,
    score_table,
    write_csv,
)

LABELS = [0, 0, 0, 1, 1, 1, 1, 0]
RAW = [0.0, 0.01, 0.99, 1.0, 1.0, 0.98, 0.02, 1.0]
CALIBRATED = [0.2, 0.2, 0.7, 0.7, 0.7, 0.7, 0.2, 0.7]


def numbers(line: str) -> list[float]:
    return [float(word) for word in line[13:33].split()]


def test_recording_has_the_figures_its_readme_states():
    answers = load_recording()
    p = np.array([answer.probability for answer in answers])
    y = [answer.label for answer in answers]
    assert len(answers) == 2100
    assert accuracy(p, y) == pytest.approx(0.8767, abs=5e-5)
    assert np.maximum(p, 1 - p).mean() == pytest.approx(0.9619, abs=5e-5)
    assert ece(p, y) == pytest.approx(0.0901, abs=5e-5)
    assert log_loss(p, y) == pytest.approx(0.5172, abs=5e-5)
    assert brier(p, y) == pytest.approx(0.1072, abs=5e-5)


def test_table_shows_the_scores_of_both():
    head, *rows = score_table(RAW, CALIBRATED, LABELS)
    assert head.split() == ['raw', 'calibrated']
    table = {row[:13].strip(): numbers(row) for row in rows}
    # By hand: 3 of 8 on the wrong side. Raw is off by 1, 0.99 and 0.98 there; calibrated has
    # three of 0.2 (one positive) and five of 0.7 (three positive).
    assert table['accuracy'] == [0.625, 0.625]
    raw_brier = (0.01**2 + 0.99**2 + 0.02**2 + 0.98**2 + 1) / 8
    calibrated_brier = (2 * 0.2**2 + 0.8**2 + 2 * 0.7**2 + 3 * 0.3**2) / 8
    assert table['Brier score'] == pytest.approx([raw_brier, calibrated_brier], abs=5e-4)
    assert table['ECE'] == pytest.approx([(0.97 + 4.97 - 3) / 8, (0.4 + 0.5) / 8], abs=6e-4)
    losses = -np.log([0.999, 0.99, 0.01, 0.999, 0.999, 0.98, 0.02, 0.001]).mean()
    assert table['log-loss'][0] == pytest.approx(losses, abs=5e-4)
    assert 'clipped to [0.001, 0.999]' in '\n'.join(rows)


def bins_of(lines: list[str], side: int) -> dict[str, tuple[str, str]]:
    """Return the numbers and the bar of each bin of the raw (0) or the calibrated (1) side."""
    width = (len(lines[2]) - 9) // 2
    cells = {line[:9]: line[9 + side * width :][:width] for line in lines[2:]}
    return {name: tuple(cell.strip().split(':')[:2]) for name, cell in cells.items()}


@pytest.mark.parametrize('unicode', [True, False])
def test_diagram_is_aligned_and_fits_a_terminal(unicode):
    chance = np.random.default_rng(1)
    labels = chance.integers(0, 2, 3000)
    lines = diagram_lines(chance.random(3000), chance.random(3000) ** 9, labels, unicode)
    assert len(lines) == 2 + BINS
    assert len({len(line) for line in lines[1:]}) == 1
    assert max(map(len, lines)) < 80
    assert '\n'.join(lines).isascii() != unicode


def test_diagram_shows_what_was_said_and_how_often_it_was_so():
    lines = diagram_lines(RAW, CALIBRATED, LABELS, unicode=False)
    raw, calibrated = bins_of(lines, 0), bins_of(lines, 1)
    assert BAR_WIDTH == 16
    assert raw['0.00-0.07'] == ('3 0.01 0.33 ', '|####           ')
    assert raw['0.93-1.00'] == ('5 0.99 0.60 ', '##########     |')
    assert calibrated['0.20-0.27'] == ('3 0.20 0.33 ', '###|#           ')
    assert calibrated['0.67-0.73'] == ('5 0.70 0.60 ', '########## |    ')
    assert raw['0.20-0.27'] == calibrated['0.00-0.07'] == ('-' + ' ' * 11, ' ' * BAR_WIDTH)


@pytest.mark.parametrize(
    ('encoding', 'can'),
    [('utf-8', True), ('ascii', False), ('latin-1', False), (None, False), ('nonsense', False)],
)
def test_diagram_is_ascii_where_the_terminal_is(encoding, can):
    assert can_encode(encoding) is can


def test_csv_reads_back_bit_for_bit(tmp_path: Path):
    samples = [Sample(1_700_000_000_123_456_789, 0.1 + 0.2, 1 / 3, 1), Sample(2, 1e-17, None, 0)]
    write_csv(tmp_path / 'samples.csv', samples)
    with (tmp_path / 'samples.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert [int(row['stamp_ns']) for row in rows] == [1_700_000_000_123_456_789, 2]
    assert [float(row['raw']) for row in rows] == [0.1 + 0.2, 1e-17]
    assert float(rows[0]['calibrated']) == 1 / 3
    assert rows[1]['calibrated'] == ''
    assert [row['label'] for row in rows] == ['1', '0']


def test_png_is_drawn(tmp_path: Path):
    pytest.importorskip('matplotlib')
    path = tmp_path / 'reliability.png'
    assert write_png(path, 'Eight samples', RAW, CALIBRATED, LABELS)
    assert path.read_bytes().startswith(b'\x89PNG')


def test_without_matplotlib_there_is_no_png(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    monkeypatch.setitem(sys.modules, 'matplotlib.backends.backend_agg', None)
    path = tmp_path / 'reliability.png'
    assert not write_png(path, 'Eight samples', RAW, CALIBRATED, LABELS)
    assert not path.exists()


def test_without_a_terminal_progress_is_plain_lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, 'LINE_EVERY', 0.0)
    with progress.Progress(2, 'published') as bar:
        bar.advance('')
        bar.advance('all well')
    assert capsys.readouterr().out.splitlines() == [
        '  1 of 2 published',
        '  2 of 2 published; all well',
    ]
