# SPDX-License-Identifier: Apache-2.0
"""Since when and where the numbers are honest, and what these figures rest on."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np

from calib_node.core.metrics import ece, log_loss, multiclass_log_loss
from calib_node.report.data import Floats, Integers, ReportData, Samples
from calib_node.report.figures.base import Figure
from calib_node.report.figures.lines import delay_figure, loss_figure
from calib_node.report.section import Section, Table
from calib_node.report.statistics import BINS, FEWEST, Side, judge, windows

MOST_CONTEXTS = 30
IS_A_DATE = 10**18
"""Nanoseconds; stamps below are those of a simulation."""
MATCHING = (
    'predictions', 'labels', 'matched', 'expired predictions', 'unmatched labels',
    'duplicate labels', 'held back', 'failed updates', 'no opinion', 'unstamped predictions',
    'ignored labels', 'refused', 'jumps back in time', 'missed objects',
)  # fmt: skip


def where_section(samples: Samples) -> Section:
    """Return since when, and where not, the numbers are honest."""
    figures: list[Figure] = []
    parts = windows(len(samples))
    raw = [_loss(samples.raw[part], samples.label[part]) for part in parts]
    published = [_loss(samples.published[part], samples.label[part]) for part in parts]
    if len(parts) > 1:
        figures.append(loss_figure([part.stop for part in parts], raw, published))
        since = _better_from(raw, published)
        if since == len(parts):
            text = 'Over time the calibrated numbers are not better than the raw ones.'
        elif since == 0:
            text = 'They are better than the raw numbers from the first labels on, on the whole.'
        else:
            first = parts[since].start
            text = f'They are better than the raw numbers from label {first:,} on, on the whole.'
    else:
        text = f'With {len(samples):,} matches nothing can be said of the course of time.'
    texts = [text, f'The matches are {_span(samples.stamp)}.']
    tables = [_contexts(name, values, samples) for name, values in samples.contexts.items()]
    if not tables:
        texts.append('There are no contexts (such as the class or the distance) to tell apart.')
    return Section('where', 'Since when, and where not?', texts, figures, tables)


def _better_from(raw: list[float], published: list[float]) -> int:
    """Return from which stretch on calibrated is better, however many stretches it is looked at."""
    gained = np.cumsum([0.0, *(r - p for r, p in zip(raw, published))])
    return int(np.argmin(gained))


def _loss(p: Floats, y: Integers) -> float:
    return log_loss(p, y) if p.ndim == 1 else multiclass_log_loss(p, y)


def _span(stamps: Integers) -> str:
    first, last = int(stamps.min()), int(stamps.max())
    seconds = (last - first) / 1e9
    length = f'{seconds:.1f} s' if seconds < 600 else f'{seconds / 3600:.1f} h'
    if first < IS_A_DATE:
        return f'of {length}, by the stamps'
    begin = datetime.fromtimestamp(first // 10**9, timezone.utc)
    return f'of {length} from {begin:%Y-%m-%d %H:%M} UTC on, by the stamps'


def _contexts(name: str, values: list[str], samples: Samples) -> Table:
    names, place, counts = np.unique(np.array(values), return_inverse=True, return_counts=True)
    rows = [[name, 'count', 'said, raw', 'said, calibrated', 'was', 'ECE, raw', 'calibrated', '']]
    for index in np.argsort(-counts, kind='stable')[:MOST_CONTEXTS].tolist():
        own = place == index
        raw, y = _judged(samples, own, 'raw')
        published, so = _judged(samples, own, 'published')
        few = len(y) < FEWEST
        sides = None if few else (judge(raw, y), judge(published, so))
        remark = 'too few to say' if few else ('' if sides and sides[1].is_honest else 'not honest')
        rows.append(
            [
                str(names[index]) or '(none)',
                f'{len(y):,}',
                f'{raw.mean():.3f}',
                f'{published.mean():.3f}',
                f'{so.mean():.3f}',
                f'{ece(raw, y, BINS):.3f}',
                f'{ece(published, so, BINS):.3f}',
                remark,
            ]
        )
    if len(names) > MOST_CONTEXTS:
        rows.append([f'and {len(names) - MOST_CONTEXTS} more', *[''] * 7])
    return Table(f'By {name}', rows)


def _judged(samples: Samples, own: np.ndarray, side: str) -> tuple[Floats, Integers]:
    p, y = samples.judged(getattr(samples, side))
    return p[own], y[own]


def trust_section(data: ReportData, published: Side | None) -> Section:
    """Return what the figures rest on."""
    samples, figures = data.samples, []
    if published is None:
        texts = ['There are no matches here to judge by.']
    else:
        few = published.count < 10 * BINS
        texts = [
            f'They rest on {published.count:,} matches, of which {published.was:.1%} were so'
            + (': too few for more than a first look.' if few else '.')
        ]
    if data.sentences:
        texts += [f'The status says: {sentence}' for sentence in data.sentences]
    known = [(name, data.figures[name]) for name in MATCHING if name in data.figures]
    tables = []
    if known:
        tables.append(Table('Matching', [['what', 'count'], *([n, v] for n, v in known)]))
        texts.append(_never(data))
    else:
        texts.append('How many messages came and how many were matched is not known from here.')
    if samples is not None and samples.delay is not None:
        delay = samples.delay[np.isfinite(samples.delay)]
        if len(delay):
            figures.append(delay_figure(delay))
    if not figures:
        texts.append('How late the labels were is not known from here.')
    return Section('trust', 'Can I trust these figures?', texts, figures, tables)


def _never(data: ReportData) -> str:
    predictions = int(data.figures.get('predictions', '0') or 0)
    if not predictions:
        return 'No prediction came.'
    # Of messages with many objects `matched` counts messages, and these count objects.
    counted = ('learned', 'held back', 'failed updates')
    labelled = sum(int(data.figures.get(name, '0') or 0) for name in counted)
    if data.samples is not None:
        labelled = len(data.samples)
    never = max(1.0 - labelled / predictions, 0.0)
    return (
        f'{never:.1%} of {predictions:,} predictions were never labelled. What is said here holds '
        'for the others, and for these only where labels do not depend on the number.'
    )
