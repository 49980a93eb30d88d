# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the streams: a small run, what it refuses, and its published values."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from calib_node.core.calibrators import create

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def modules(monkeypatch):
    """Import the modules of the benchmark."""
    pytest.importorskip(
        'river', reason='river is missing: pip install -r requirements/benchmark.txt'
    )
    monkeypatch.syspath_prepend(str(ROOT / 'benchmarks'))
    import streams
    import streams_data
    import streams_runs
    import streams_tables

    return {m.__name__: m for m in (streams, streams_data, streams_runs, streams_tables)}


@pytest.fixture
def benchmark(modules, capsys):
    """Run the benchmark in one process and return what it prints."""

    def run(*arguments, status=0):
        command = ['--jobs', '1', *map(str, arguments)]
        with pytest.raises(SystemExit) as end:
            sys.exit(modules['streams'].main(command))
        assert end.value.code == status
        output = capsys.readouterr()
        return output.out + output.err

    return run


def probabilities(path, count=1200):
    generator = random.Random(0)
    rows = [f'{generator.random():.3f},{generator.randrange(2)}' for _ in range(count)]
    path.write_text('\n'.join(['p_raw,label', *rows, '']))
    return path


def test_small_run(benchmark, tmp_path):
    file = tmp_path / 'tables.md'
    output = benchmark(
        *('--streams', 'phishing', '--methods', 'identity,ops,ensemble', '--delays', '0,20'),
        *('--samples', 150, '--markdown', file),
    )
    assert 'LOG-LOSS, LABELS 20 SAMPLES LATE' in output
    assert 'agree' not in output
    markdown = file.read_text()
    assert markdown.count('\n## ') + markdown.startswith('## ') == 4
    assert '| ops | ' in markdown
    assert '**' in markdown
    assert '*' not in markdown.replace('**', '')


def test_two_processes_give_what_one_gives(tmp_path):
    files = [tmp_path / f'{jobs}.md' for jobs in (1, 2)]
    arguments = [
        *('--streams', 'phishing,bank', '--bank', str(probabilities(tmp_path / 'p.csv'))),
        *('--methods', 'ops,hops,ensemble', '--samples', '1100', '--delays', '5'),
    ]
    script = [sys.executable, str(ROOT / 'benchmarks' / 'streams.py')]
    for jobs, file in enumerate(files, 1):
        subprocess.run(
            [*script, *arguments, '--jobs', str(jobs), '--markdown', str(file)],
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
            check=True,
            timeout=100,
        )
    assert files[0].read_text() == files[1].read_text()
    assert 'Calibration error of the paper' in files[0].read_text()


def test_missing_files_are_left_out_with_where_they_come_from(benchmark, tmp_path, monkeypatch):
    output = benchmark('--streams', 'elec2,bank,credit', '--data', tmp_path)
    for name, origin in (
        ('elec2', 'OpenML 151'),
        ('bank', 'UCI Bank Marketing'),
        ('credit', 'UCI Default of Credit Card Clients'),
        ('the networks', 'EFS-OpenSource/calibration-framework'),
    ):
        (line,) = [line for line in output.splitlines() if line.startswith(f'{name} ')]
        assert 'left out for want of a file' in line
        assert origin in line
    monkeypatch.setenv('COLUMNS', '500')
    help_text = ' '.join(benchmark('--help').split())
    for origin in ('OpenML 151', 'UCI Bank Marketing', 'AIgen/df-posthoc-calibration'):
        assert origin in help_text


def test_value_that_differs_is_said_and_fails(benchmark, tmp_path):
    output = benchmark(
        *('--streams', 'elec2', '--elec2', probabilities(tmp_path / 'other.csv')),
        *('--methods', 'identity', '--delays', 0),
        status=1,
    )
    assert 'DIFFERS' in output
    assert '0 of 28 cells agree to four digits; 27 were not run' in output


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        (('--streams', 'elec3'), "'elec3' is none of phishing, elec2"),
        (('--methods', 'opps'), "'opps' is none of ops, "),
        (('--delays', '-1'), 'a delay is a number of samples from 0'),
        (('--delays', 'late'), 'invalid delays value'),
        (('--data', '/nowhere'), 'there is no folder /nowhere'),
    ],
)
def test_wrong_use_is_refused(benchmark, arguments, sentence):
    output = benchmark(f'{arguments[0]}={arguments[1]}', status=2)
    assert sentence in output
    assert 'Traceback' not in output


def test_features_of_elec2_are_read_as_river_reads_them(modules, tmp_path):
    path = tmp_path / 'electricity.csv'
    header = 'date,day,period,nswprice,nswdemand,vicprice,vicdemand,transfer,class'
    path.write_text(f'{header}\n0.0,2,0.5,0.05,0.43,0.003,0.42,0.41,UP\n0,3,1,0,0,0,0,0,DOWN\n')
    data = modules['streams_data']
    (x, up), (_, down) = data.read_elec2(path)
    assert list(x) == header.split(',')[:-1]
    assert isinstance(x['day'], int)
    assert (x['period'], up, down) == (0.5, True, False)
    samples = data.load('elec2', path, None)
    assert (len(samples), samples.y) == (2, [1, 0])


def test_labels_are_late_by_the_number_of_predictions(modules):
    data, runs = modules['streams_data'], modules['streams_runs']
    samples = data.Samples('x', [0.9, 0.8, 0.7, 0.6, 0.9], [0, 0, 0, 1, 0])
    calibrator, expected = create('ops'), []
    for i, p in enumerate(samples.p):
        expected.append(calibrator.predict(p))
        if i >= 2:
            calibrator.update(samples.p[i - 2], samples.y[i - 2])
    assert runs.forecasts(create('ops'), samples, 2) == expected


def test_where_the_mixture_misses_the_best(modules):
    samples = modules['streams_data'].Samples('x', [0.5] * 1250, [0] * 1250)
    misses, allowance = modules['streams'].misses, modules['streams_runs'].allowance
    assert allowance(0, 1250) == pytest.approx(0.0021, abs=5e-5)
    assert allowance(0, 5000) == 0.001
    assert list(misses(samples, {'ops': 0.3, 'mixture': 0.3009}, 0)) == []
    assert list(misses(samples, {'ops': 0.3}, 0)) == []
    (within,) = misses(samples, {'ops': 0.3, 'tops': 0.4, 'mixture': 0.302}, 0)
    assert within == ('mixture on x: .0020 above ops, within max(.001, (1+D) ln K/n) = .0021')
    (beyond,) = misses(samples, {'ops': 0.3, 'mixture': 0.303}, 0)
    assert 'beyond' in beyond
    (late,) = misses(samples, {'ops': 0.3, 'mixture': 0.303}, 20)
    assert 'within' in late


def test_best_is_that_to_four_digits(modules):
    best = modules['streams_tables'].best
    assert best({'a': 0.30001, 'b': 0.30004, 'c': 0.3002}) == {'a', 'b'}


def test_published_values_of_the_generated_streams(benchmark):
    output = benchmark(
        *('--streams', 'phishing,bananas,sea_drift,agrawal_drift,hyperplane,sine_drift'),
        *('--methods', 'identity,ops,tops,ensemble', '--delays', 0),
    )
    assert '24 of 28 cells agree to four digits; 4 were not run' in output


def test_published_values_of_the_files(benchmark, shared_data):
    output = benchmark(
        *('--data', shared_data('stream_elec2.csv').parent, '--streams', 'elec2,bank'),
        *('--methods', 'identity,ops,tops,ensemble', '--delays', '0,50'),
    )
    assert '4 of 28 cells agree to four digits; 24 were not run' in output
    assert output.count(' agrees\n') == 4 + 6 + 3
    late = output[output.index('50 SAMPLES LATE') :].splitlines()
    (ops,) = [line.split() for line in late[:8] if line.startswith('ops')]
    assert ops[1].rstrip('*') == '.4820'
