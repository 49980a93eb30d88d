# SPDX-License-Identifier: Apache-2.0
"""The sections of a report, in the order in which a person asks."""

from __future__ import annotations

from calib_node.report.data import Floats, ReportData, Samples
from calib_node.report.figures.reliability import reliability_figure
from calib_node.report.learned import learned_section, use_section
from calib_node.report.section import Section, Table
from calib_node.report.statistics import Side, decision_cost, judge, judge_bins
from calib_node.report.trust import trust_section, where_section

RATIOS = (0.2, 1.0, 5.0, 20.0)
TOP = 'Of {} classes, the largest probability is looked at, and whether its class was the true one.'


def sections_of(data: ReportData) -> list[Section]:
    """Return what a report says, from the first question to the last."""
    samples = data.samples
    if samples is None or not len(samples):
        why = (
            'Not known from here: it takes matches of predictions and labels, as calib_replay '
            '--samples writes them.'
            if samples is None
            else 'No label has found its prediction, so nothing can be said of the numbers.'
        )
        first = [Section('honest', 'Were the numbers honest?', [why, *data.sentences])]
        known = data.bins if samples is None else {}
        if known:
            first = [_of_bins(name, bins) for name, bins in known.items()]
        return [*first, trust_section(data, None), learned_section(data), use_section(data)]
    raw, published = judge(*samples.judged(samples.raw)), judge(*samples.judged(samples.published))
    return [
        _were(samples, raw),
        _are(data, raw, published),
        _changes(data, samples),
        where_section(samples),
        trust_section(data, published),
        learned_section(data),
        use_section(data),
    ]


def _of_bins(name: str, bins: Floats) -> Section:
    """Return what bins alone tell of the raw or the calibrated numbers."""
    side = judge_bins(bins)
    now = name == 'calibrated'
    question = 'Are they honest now?' if now else 'Were the numbers honest?'
    subject = 'The calibrated numbers are' if now else 'The raw numbers were'
    texts = [
        _verdict(subject, side),
        f'This is of the last {side.count:,} matches, which the node keeps.',
    ]
    return Section(
        'now' if now else 'honest', question, texts, [reliability_figure(name, name, side)]
    )


def _were(samples: Samples, raw: Side) -> Section:
    texts = [_verdict('The raw numbers were', raw)]
    if samples.classes > 1:
        texts.append(TOP.format(samples.classes))
    worst = max(raw.bins.tolist(), key=lambda row: row[0] * abs(row[1] - row[2]))
    count, said, was = worst[:3]
    texts.append(
        f'On average they said {raw.said:.3f}, and it was so {raw.was:.1%} of the time. What '
        f'counts most: {count:,.0f} times they said about {said:.2f}, and it was so '
        f'{was:.1%} of these times.'
    )
    figure = reliability_figure('raw', 'raw', raw)
    return Section('honest', 'Were the numbers honest?', texts, [figure])


def _verdict(subject: str, side: Side) -> str:
    chance = (
        f'honest numbers like these have {side.ece_by_chance:.3f} by chance, and seldom more than '
        f'{side.ece_high:.3f}'
    )
    error = f'expected calibration error {side.ece:.3f}; {chance}'
    if side.count < 2 or side.was in (0.0, 1.0):
        so = 'never' if side.was == 0.0 else 'always'
        return (
            f'{subject} seen with one kind of label alone ({so} so), which proves little: {error}.'
        )
    return f'{subject} {"honest" if side.is_honest else "not honest"}: {error}.'


def _now(raw: Side, published: Side) -> str:
    """Return how honest the calibrated numbers are, beside the raw ones."""
    text = _verdict('The calibrated numbers are', published)
    if published.is_honest or published.ece >= raw.ece:
        return text
    nearer = f'nearer to honest than the raw ones ({raw.ece:.3f}), and not there'
    return text.replace('are not honest:', f'are {nearer}:')


def _are(data: ReportData, raw: Side, published: Side) -> Section:
    texts = [_now(raw, published)]
    better = published.log_loss < raw.log_loss
    texts.append(
        f'The log-loss went from {raw.log_loss:.4f} to {published.log_loss:.4f}, which is '
        f'{"better" if better else "no better"}. Every forecast counts, those before the first '
        'label too, each as it was published.'
    )
    rows = [['', 'raw', 'calibrated', '']]
    for name, attribute, remark in (
        ('log-loss', 'log_loss', 'lower is better'),
        ('Brier score', 'brier', 'lower is better'),
        ('ECE, 15 bins', 'ece', 'lower is better'),
        ('ECE by chance', 'ece_by_chance', 'of honest numbers like these'),
        ('miscalibration', 'miscalibration', 'part of the Brier score, by isotonic regression'),
        ('discrimination', 'discrimination', 'higher is better'),
        ('uncertainty', 'uncertainty', 'of the labels alone'),
        ('accuracy', 'accuracy', 'at one half'),
    ):
        values = (getattr(side, attribute) for side in (raw, published))
        rows.append([name, *(f'{value:.4f}' for value in values), remark])
    tables = [Table('Scores, raw and calibrated', rows)]
    if data.comparison:
        tables.append(Table('Methods on the same matches', data.comparison))
        texts.append('Other methods on the same matches are in the second table.')
    figure = reliability_figure('calibrated', 'calibrated', published)
    return Section('now', 'Are they honest now?', texts, [figure], tables)


def _changes(data: ReportData, samples: Samples) -> Section:
    question = 'What does it change?'
    if samples.classes > 1:
        same = (samples.raw.argmax(axis=1) == samples.published.argmax(axis=1)).mean()
        text = (
            f'The likeliest class stays the same for {same:.1%} of the predictions; how sure the '
            'number is changes.'
        )
        return Section('changes', question, [text])
    rows = [
        ['a wrong yes costs', 'yes above', 'cost, raw', 'cost, calibrated', 'decided otherwise']
    ]
    best = (0.0, 1.0)
    for ratio in RATIOS:
        before, yes_before = decision_cost(samples.raw, samples.label, ratio)
        after, yes_after = decision_cost(samples.published, samples.label, ratio)
        changed = float((yes_before != yes_after).mean())
        if before > 0.0 and 1.0 - after / before > best[0]:
            best = (1.0 - after / before, ratio)
        rows.append(
            [
                f'{ratio:g} x a wrong no',
                f'{ratio / (1.0 + ratio):.3f}',
                f'{before:.4f}',
                f'{after:.4f}',
                f'{changed:.1%}',
            ]
        )
    gain, ratio = best
    text = (
        f'Where a wrong yes costs {ratio:g} times a wrong no, decisions cost {gain:.0%} less.'
        if gain > 0.0
        else 'Decisions at these costs are no cheaper for it.'
    )
    explained = (
        'A decision is yes where that is cheaper on average if the number is honest. Costs are the '
        'mean of a decision, in wrong noes.'
    )
    return Section('changes', question, [text, explained], [], [Table('Decisions', rows)])
