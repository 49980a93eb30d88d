# SPDX-License-Identifier: Apache-2.0
"""What calibration did to a set of samples: figures and a diagram as text, samples as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from calib_node.core.metrics import (
    LOG_LOSS_CLIP,
    Reliability,
    accuracy,
    brier,
    ece,
    log_loss,
    reliability,
)
from calib_node.tools.recording import Sample

BINS = 15
BAR_WIDTH = 16
UNICODE = {'bar': '█', 'mark': '┃', 'edge': '│', 'axis': '─'}
ASCII = {'bar': '#', 'mark': '|', 'edge': ':', 'axis': '-'}


def can_encode(encoding: str | None) -> bool:
    """Tell whether an encoding has the characters of the diagram."""
    try:
        ''.join(UNICODE.values()).encode(encoding or 'ascii')
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def score_table(raw: ArrayLike, calibrated: ArrayLike, labels: ArrayLike) -> list[str]:
    """Return the lines of a table with the figures of raw and calibrated probabilities.

    Examples
    --------
    >>> for line in score_table([0.9, 0.9], [0.5, 0.6], [0, 1]):
    ...     print(line)
                     raw   calibrated
    accuracy       0.500        1.000   higher is better; p > 0.5 counts as yes
    log-loss       1.204        0.602   lower is better; p clipped to [0.001, 0.999]
    Brier score    0.410        0.205   lower is better
    ECE            0.400        0.450   lower is better; 15 equal-width bins
    """
    clip = f'p clipped to [{LOG_LOSS_CLIP:g}, {1 - LOG_LOSS_CLIP:g}]'
    rows = (
        ('accuracy', accuracy, 'higher is better; p > 0.5 counts as yes'),
        ('log-loss', log_loss, f'lower is better; {clip}'),
        ('Brier score', brier, 'lower is better'),
        ('ECE', lambda p, y: ece(p, y, BINS), f'lower is better; {BINS} equal-width bins'),
    )
    lines = [f'{"":13}{"raw":>7}{"calibrated":>13}']
    for name, score, remark in rows:
        before, after = score(raw, labels), score(calibrated, labels)
        lines.append(f'{name:13}{before:7.3f}{after:13.3f}   {remark}')
    return lines


def diagram_lines(
    raw: ArrayLike, calibrated: ArrayLike, labels: ArrayLike, unicode: bool = True
) -> list[str]:
    """Return the lines of a reliability diagram, raw and calibrated side by side.

    A line is a bin: how many probabilities fell into it, their mean, and how often the label was
    1. The bar shows the latter, the mark in it the mean: the bar of honest numbers ends there.

    Parameters
    ----------
    raw, calibrated : array_like of float, shape (n,)
        Probabilities before and after calibration.
    labels : array_like of int, shape (n,)
        Labels, 0 or 1.
    unicode : bool
        False: ASCII only.
    """
    signs = UNICODE if unicode else ASCII
    sides = [reliability(p, labels, BINS) for p in (raw, calibrated)]
    axis = f'0{signs["axis"] * BAR_WIDTH}1'
    head = f'{"n":>4} {"said":>4} {"was":>4} {axis}'
    titles = [f'{title:^{len(head)}}' for title in ('raw', 'calibrated')]
    lines = ['  '.join([' ' * 9, *titles]), '  '.join([f'{"bin":9}', head, head])]
    for index in range(BINS):
        cells = [_cell(side, index, signs) for side in sides]
        lines.append('  '.join([f'{index / BINS:.2f}-{(index + 1) / BINS:.2f}', *cells]))
    return [line.rstrip() for line in lines]


def _cell(side: Reliability, index: int, signs: dict[str, str]) -> str:
    """Return the numbers and the bar of one bin."""
    count = int(side.count[index])
    edge = signs['edge']
    if not count:
        return f'{"-":>4} {"":9} {edge}{"":{BAR_WIDTH}}{edge}'
    mean, frequency = float(side.mean[index]), float(side.frequency[index])
    filled = math.floor(frequency * BAR_WIDTH + 0.5)
    places = [signs['bar']] * filled + [' '] * (BAR_WIDTH - filled)
    places[min(int(mean * BAR_WIDTH), BAR_WIDTH - 1)] = signs['mark']
    return f'{count:4} {mean:4.2f} {frequency:4.2f} {edge}{"".join(places)}{edge}'


def write_csv(path: Path, samples: Sequence[Sample]) -> None:
    """Write the samples; probabilities read back bit for bit, a missing one is empty."""
    with path.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(('stamp_ns', 'raw', 'calibrated', 'label'))
        for sample in samples:
            calibrated = '' if sample.calibrated is None else repr(sample.calibrated)
            writer.writerow((sample.stamp, repr(sample.raw), calibrated, sample.label))
