# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of held-out streams and of forgetting: small runs, and what they count."""

from __future__ import annotations

import numpy as np
import pytest

from calib_node.core.calibrators import OnlinePlattScaling


@pytest.fixture
def held_out(import_benchmark):
    for module in ('river', 'sklearn'):
        pytest.importorskip(
            module, reason=f'{module} is missing: pip install -r requirements/benchmark.txt'
        )
    return import_benchmark('held_out')


@pytest.fixture
def streams(held_out, import_benchmark):
    return import_benchmark('generators')


@pytest.fixture
def forgetting(import_benchmark):
    return import_benchmark('forgetting')


SIZES = {'a': 1000, 'b': 10_000, 'c': 1000}


def cells(output):
    return [line.split() for line in output.splitlines()]


@pytest.mark.parametrize('jobs', [1, 2])
def test_small_run(held_out, capsys, jobs):
    names = 'bias_0,short_0,memory_1'
    held_out.main(f'--set 5 --streams {names} --samples 120 --delays 0,20 --jobs {jobs}'.split())
    output = capsys.readouterr().out
    lines = cells(output)
    assert [line[1] for line in lines if line and line[1:2] in (['0'], ['20'])] == ['0', '20']
    assert [
        [line[1], line[3]] for line in lines if line and '_' in line[1] and line[3] == '120'
    ] == [
        ['short_0', '120'],
        ['bias_0', '120'],
        ['memory_1', '120'],
    ]
    assert '## Set 5, 3 streams: ' in output


def test_summary_counts_what_is_above(held_out, import_benchmark):
    samples = import_benchmark('runs').Samples
    streams = [samples(name, [0.5] * n, [0] * n) for name, n in SIZES.items()]
    losses = {}
    for name, mixture in (('a', 0.302), ('b', 0.302), ('c', 0.28)):
        for delay in (0, 20):
            losses |= {(name, m, delay): x for m, x in (('ops', 0.4), ('beta', 0.3))}
            losses[name, 'mixture', delay] = mixture
    (at_once, late) = held_out.summary(streams, losses, [0, 20], 2).rows
    assert at_once == ['0', '-.0053', '+.0020', '+.0020', 'a', '2', '1']
    assert late == ['20', '-.0053', '+.0020', '+.0020', 'a', '2', '0']
    first, *_, last = held_out.each(streams, losses, [0, 20]).rows
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
        f'{forgetting.price(OnlinePlattScaling(forgetting=share, rho=rho), p, y):.4f}'
        for share, rho in forgetting.SETTINGS
    ]
    assert prices == ['0.4618', '0.4645', '0.4693', '0.4706', '0.4943', '0.5347']


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
    rows = [line for line in cells(output) if line and line[1][0].isdigit()]
    assert [[row[1], row[3]] for row in rows] == [
        [f'{f:g}', f'{rho:g}'] for f, rho in forgetting.SETTINGS
    ]
    assert rows[0][7] == '61;'
    assert 'of 300 samples without a change' in output
