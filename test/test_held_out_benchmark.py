# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of held-out streams and of forgetting: small runs, and what they count."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from calib_node.core.calibrators import OnlinePlattScaling

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def path(monkeypatch):
    """Let the modules of the benchmarks be imported."""
    monkeypatch.syspath_prepend(str(ROOT / 'benchmarks'))


@pytest.fixture
def held_out(path):
    for module in ('river', 'sklearn'):
        pytest.importorskip(
            module, reason=f'{module} is missing: pip install -r requirements/benchmark.txt'
        )
    import held_out

    return held_out


@pytest.fixture
def streams(held_out):
    return sys.modules['held_out_streams']


@pytest.fixture
def forgetting(path):
    import forgetting

    return forgetting


def cells(output):
    return [line.split() for line in output.splitlines()]


@pytest.mark.parametrize('jobs', [1, 2])
def test_small_run(held_out, capsys, tmp_path, jobs):
    file = tmp_path / 'tables.md'
    names = 'bias_0,short_0,memory_1'
    held_out.main(
        f'--set 5 --streams {names} --samples 120 --delays 0,20 --jobs {jobs} '
        f'--markdown {file}'.split()
    )
    lines = cells(capsys.readouterr().out)
    assert [line[0] for line in lines if line and line[0] in ('0', '20')] == ['0', '20']
    assert [line[:2] for line in lines if line and '_' in line[0]] == [
        ['short_0', '120'],
        ['bias_0', '120'],
        ['memory_1', '120'],
    ]
    assert file.read_text().startswith('## Set 5, 3 streams: ')


def test_summary_counts_what_is_above(held_out):
    def result(name, count, mixture):
        losses = {'mixture': mixture, 'ops': 0.4, 'beta': 0.3}
        return held_out.Result(name, count, {0: losses, 20: losses})

    results = [result('a', 1000, 0.302), result('b', 10_000, 0.302), result('c', 1000, 0.28)]
    (at_once, late) = held_out.summary(results, [0, 20], 2).rows
    assert at_once == ['0', '-.0053', '+.0020', '+.0020', 'a', '2', '1']
    assert late == ['20', '-.0053', '+.0020', '+.0020', 'a', '2', '0']
    first, *_, last = held_out.each(results, [0, 20]).rows
    assert first == ['a', '1000', '+.0020 beta', '+.0020 beta']
    assert last[2] == '-.0200 beta'


@pytest.mark.parametrize(
    ('argument', 'sentence'),
    [
        ('--set=-1', 'a set is a number from 0'),
        ('--set=two', 'invalid number value'),
        ('--streams=sea', "'sea' is none of sea_0, sea_1"),
        ('--delays=-1', 'a delay is a number of samples from 0'),
    ],
)
def test_wrong_use_is_refused(held_out, capsys, argument, sentence):
    with pytest.raises(SystemExit) as end:
        held_out.main([argument])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    'name', ['mixed_0', 'friedman_1', 'random_tree_1', 'still_2', 'flip', 'memory_0', 'markov_0']
)
def test_set_is_the_same_each_time_and_another_is_not(streams, name):
    once, again, other = (streams.load(name, number) for number in (3, 3, 4))
    assert once == again
    assert once.y != other.y
    assert 1000 <= len(once) <= 20_000
    assert set(once.y) == {0, 1}
    assert 0.0 <= min(once.p) < max(once.p) <= 1.0
    assert streams.load(name, 3, 10).y == once.y[:10]


def test_there_are_as_many_streams_as_said(held_out, streams):
    assert len(streams.STREAMS) == 67
    assert '67 generated streams' in held_out.__doc__


def test_drifts_move_within_the_stream(streams):
    at = [streams.Draw(number).at(1500, 5000) for number in range(100)]
    assert at[:3] == [1500, 1916, 2333]
    assert min(at) >= 1000
    assert max(at) <= 4500
    assert len(set(at)) > 20
    assert streams.Draw(2).seed(7) == 2007


def test_pieces_end_where_they_should(streams):
    rows = streams.pieces([iter('aaaa'), iter('bbbb'), iter('cccc')], [2, 3, 6])
    assert ''.join(rows) == 'aabccc'


@pytest.mark.parametrize(
    ('share', 'after', 'samples'),
    [(1, 100, 61), (1, 1000, 276), (1, 10_000, 884), (0.999, 1000, 191), (0.999, 10_000, 160)],
)
def test_samples_to_half_of_a_bias(forgetting, share, after, samples):
    calibrator = OnlinePlattScaling(forgetting=share)
    stream = forgetting.draw(after + 1000, 0)
    assert forgetting.samples_to_half(calibrator, *stream, after) == samples


def test_bias_that_is_not_got_over(forgetting, monkeypatch):
    monkeypatch.setattr(forgetting, 'MOST', 50)
    stream = forgetting.draw(200, 0)
    assert forgetting.samples_to_half(OnlinePlattScaling(), *stream, 100) == 50


def test_price_of_forgetting(forgetting):
    p, y = forgetting.calibrated(20_000, 0)
    prices = [
        forgetting.digits(forgetting.price(OnlinePlattScaling(forgetting=share, rho=rho), p, y))
        for share, rho in forgetting.SETTINGS
    ]
    assert prices == ['.4618', '.4645', '.4693', '.4706', '.4943', '.5347']


def test_numbers_are_drawn_in_turn(forgetting):
    logits, thresholds = forgetting.draw(2, 7)
    generator = np.random.default_rng(7)
    pairs = [(generator.normal(0, 2), generator.random()) for _ in range(2)]
    assert list(zip(logits, thresholds)) == pairs


def test_table_of_forgetting(forgetting, capsys, monkeypatch):
    monkeypatch.setattr(forgetting, 'MOST', 500)
    monkeypatch.setattr(forgetting, 'CALIBRATED', 300)
    forgetting.main(['--seeds', '2', '--after', '100', '200'])
    output = capsys.readouterr().out
    rows = [line for line in cells(output) if line and line[0][0].isdigit()]
    assert [row[:2] for row in rows] == [[f'{f:g}', f'{rho:g}'] for f, rho in forgetting.SETTINGS]
    assert rows[0][3] == '61;'
    assert 'of 300 samples without a change' in output
