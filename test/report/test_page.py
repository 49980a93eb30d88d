# SPDX-License-Identifier: Apache-2.0
"""The page: whole in one file, right in its numbers, and sensible where little is known."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from calib_node.core.metrics import brier, ece, log_loss, top_label_ece
from calib_node.report.data import ReportData, Samples
from calib_node.report.page import figures_of, make_page, write_figures, write_report
from calib_node.report.sections import sections_of

from .pages import Page, classes, data, learned


def page_of(given: ReportData) -> Page:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        return Page(make_page(given.title, given.source, sections_of(given)))


def test_the_page_is_one_sound_file():
    page = page_of(data())
    assert page.open == []
    assert page.links == []
    assert len(set(page.ids)) == len(page.ids)
    assert page.ids[:1] == ['honest']
    for word in ('None', 'nan', 'undefined'):
        assert word not in page.text.split()


def test_it_answers_in_the_order_in_which_a_person_asks():
    questions = [section.question for section in sections_of(data())]
    assert questions == [
        'Were the numbers honest?',
        'Are they honest now?',
        'What does it change?',
        'Since when, and where not?',
        'Can I trust these figures?',
        'What was learned?',
        'How do I use it?',
    ]


def test_every_figure_has_a_text_and_its_numbers():
    given = data()
    page, figures = page_of(given), figures_of(given)
    names = ['reliability-raw', 'reliability-calibrated', 'over-time', 'delays', 'map', 'learned']
    assert [figure.name for figure in figures] == names
    assert len(page.svgs) == len(figures)
    for svg, figure in zip(page.svgs, figures):
        assert svg['role'] == 'img'
        assert svg['aria-label'] == f'{figure.title}. {figure.alternative}'
        assert figure.table in [[[c.strip() for c in row] for row in t] for t in page.tables]


def test_the_colours_are_those_of_the_page_light_or_dark():
    for figure in figures_of(data()):
        svg = figure.svg()
        assert 'var(--ink)' in svg
        assert '#0a0b' not in svg
        # White or black of matplotlib's own would vanish in one of the schemes.
        assert '#ffffff' not in svg
        assert '#000000' not in svg


def test_the_numbers_are_those_of_the_metrics():
    samples = data().samples
    page = page_of(data())
    scores = {row[0]: row[1:3] for row in page.table('calibrated')[1:]}
    for name, score in (
        ('log-loss', log_loss),
        ('Brier score', brier),
        ('ECE, 15 bins', lambda p, y: ece(p, y, 15)),
    ):
        expected = [f'{score(p, samples.label):.4f}' for p in (samples.raw, samples.published)]
        assert scores[name] == expected
    parts = [float(scores[n][0]) for n in ('miscalibration', 'discrimination', 'uncertainty')]
    assert parts[0] - parts[1] + parts[2] == pytest.approx(
        float(scores['Brier score'][0]), abs=2e-4
    )
    assert f'{samples.label.mean():.1%}' in page.text
    assert '50.0% of 4,000 predictions were never labelled' in page.text


def test_the_decisions_are_counted():
    samples = data().samples
    rows = page_of(data()).table('yes above')
    (row,) = [row for row in rows if row[0].startswith('5 ')]
    for p, cost in zip((samples.raw, samples.published), row[2:4]):
        yes = p > 5 / 6
        wrong = 5 * (yes & (samples.label == 0)) + (~yes & (samples.label == 1))
        assert float(cost) == pytest.approx(wrong.mean(), abs=1e-4)


def test_contexts_are_told_apart():
    rows = page_of(data()).table('class')
    assert [row[:2] for row in rows[1:]] == [['bus', '1,000'], ['car', '1,000']]


def test_thresholds_are_those_of_the_map():
    given = data()
    rows = page_of(given).table('is raw at least')
    for wanted, raw in rows[1:]:
        if raw != 'never reached':
            logit = np.log(float(raw) / (1 - float(raw)))
            q = 1 / (1 + np.exp(-(given.state['a'] * logit + given.state['b'])))
            assert q == pytest.approx(float(wanted), abs=1e-3)
    assert rows[-1][1] == 'never reached'


def test_honest_numbers_are_called_honest():
    rng = np.random.default_rng(5)
    p = rng.uniform(size=3000)
    y = (rng.uniform(size=3000) < p).astype(np.int64)
    page = page_of(ReportData('t', 's', Samples(np.arange(3000), p, p, y)))
    assert 'The raw numbers were honest' in page.text
    assert 'The calibrated numbers are honest' in page.text


def test_of_several_classes_the_top_one_is_judged():
    samples, state = classes(600)
    page = page_of(ReportData('t', 's', samples, state=state))
    assert 'Of 3 classes, the largest probability is looked at' in page.text
    scores = {row[0]: row[1:3] for row in page.table('calibrated')[1:]}
    expected = [
        f'{top_label_ece(p, samples.label, 15):.4f}' for p in (samples.raw, samples.published)
    ]
    assert scores['ECE, 15 bins'] == expected
    assert 'The likeliest class stays the same for 100.0%' in page.text


@pytest.mark.parametrize('count', [0, 1, 2, 5, 31])
def test_few_matches(count: int):
    samples, state = learned(count)
    page = page_of(ReportData('t', 's', samples, state=state))
    assert page.open == []
    if not count:
        assert 'No label has found its prediction' in page.text
    else:
        assert 'too few for more than a first look' in page.text


@pytest.mark.parametrize('value', [0.0, 0.3, 1.0])
@pytest.mark.parametrize('label', [0, 1, None])
def test_one_probability_and_one_kind_of_label(value: float, label: int | None):
    y = np.arange(100) % 2 if label is None else np.full(100, label)
    p = np.full(100, value)
    page = page_of(ReportData('t', 's', Samples(np.arange(100), p, p, y.astype(np.int64))))
    if label is not None:
        assert 'one kind of label alone' in page.text


def test_from_a_state_alone_what_is_unknown_is_said():
    _, state = learned(300)
    page = page_of(ReportData('t', 's', state=state))
    assert 'Not known from here' in page.text
    assert 'Method ops, 300 labels learned' in page.text
    assert 'is raw at least' in [c for table in page.tables for c in table[0]]
    nothing = page_of(ReportData('t', 's'))
    assert nothing.text.count('known from here') >= 3


@pytest.mark.parametrize('state', [{'method': 'ops'}, {'method': 'swamp'}, {}, {'classes': 3}])
def test_a_state_without_a_map(state: dict):
    page = page_of(ReportData('t', 's', state=state))
    assert 'Its map is not drawn' in page.text


def test_texts_cannot_break_the_page():
    evil = '<script>alert("x")</script>'
    samples, _ = learned(100)
    samples.contexts = {'class': [evil] * 100}
    given = ReportData(evil, evil, samples, sentences=[evil], parameters=evil)
    page = page_of(given)
    assert page.links == []
    assert page.text.count(evil) == 6


def test_the_same_gives_the_same_bytes(tmp_path: Path):
    for name in ('one.html', 'two.html'):
        write_report(tmp_path / name, data())
    assert (tmp_path / 'one.html').read_bytes() == (tmp_path / 'two.html').read_bytes()


def test_figures_as_pictures(tmp_path: Path):
    files = write_figures(tmp_path / 'figures', data())
    assert len(files) == 6
    assert all(file.read_bytes().startswith(b'\x89PNG') for file in files)


@pytest.mark.slow
def test_a_million_matches():
    """What is drawn is bounded; what is counted is not."""
    rng = np.random.default_rng(6)
    p = rng.uniform(size=1_000_000)
    y = (rng.uniform(size=len(p)) < p**2).astype(np.int64)
    q = np.clip(p**2, 0.0, 1.0)
    given = ReportData('t', 's', Samples(np.arange(len(p)), p, q, y, rng.uniform(size=len(p))))
    html = make_page('t', 's', sections_of(given))
    assert 'They rest on 1,000,000 matches' in Page(html).text
    assert len(html) < 3_000_000
