# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the streams: a small run, what it refuses, and its published values."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _needs_river():
    pytest.importorskip(
        'river', reason='river is missing: pip install -r requirements/benchmark.txt'
    )


@pytest.fixture
def benchmark(import_benchmark, capsys):
    """Run the benchmark in one process and return what it prints."""

    def run(*arguments, status=0):
        command = ['--jobs', '1', *map(str, arguments)]
        with pytest.raises(SystemExit) as end:
            sys.exit(import_benchmark('streams').main(command))
        assert end.value.code == status
        output = capsys.readouterr()
        return output.out + output.err

    return run


def probabilities(path, count=1200):
    generator = random.Random(0)
    rows = [f'{generator.random():.3f},{generator.randrange(2)}' for _ in range(count)]
    path.write_text('\n'.join(['p_raw,label', *rows, '']))
    return path


def test_small_run(benchmark):
    output = benchmark(
        *('--streams', 'phishing', '--methods', 'identity,ops,ensemble', '--delays', '0,20'),
        *('--samples', 150),
    )
    assert output.count('## ') == 4
    assert '## Log-loss, labels 20 samples late' in output
    assert '| ops ' in output
    assert '**' in output
    assert 'agree' not in output


def test_two_processes_give_what_one_gives(tmp_path):
    probabilities(tmp_path / 'bank.csv')
    command = [
        *(sys.executable, str(ROOT / 'benchmarks' / 'streams.py'), '--data', str(tmp_path)),
        *('--streams', 'phishing,bank', '--methods', 'ops,hops,ensemble'),
        *('--samples', '1100', '--delays', '5'),
    ]
    outputs = [
        subprocess.run(
            [*command, '--jobs', jobs],
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
            check=True,
            timeout=100,
            capture_output=True,
            text=True,
        ).stdout.partition('## ')[2]
        for jobs in '12'
    ]
    assert outputs[0] == outputs[1]
    assert 'Calibration error of the paper' in outputs[0]


def test_missing_files_are_left_out_with_where_they_come_from(benchmark, tmp_path, monkeypatch):
    origins = {
        'elec2': 'OpenML 151',
        'bank': 'UCI Bank Marketing',
        'credit': 'UCI Default of Credit Card Clients',
    }
    output = benchmark(
        *('--streams', 'phishing,elec2,bank,credit', '--data', tmp_path, '--methods', 'identity')
    )
    for name, origin in origins.items():
        (line,) = [line for line in output.splitlines() if line.startswith(f'{name} ')]
        assert 'left out for want of a file' in line
        assert origin in line
    monkeypatch.setenv('COLUMNS', '500')
    help_text = ' '.join(benchmark('--help').split())
    assert all(origin in help_text for origin in origins.values())


def test_value_that_differs_is_said_and_fails(benchmark, tmp_path):
    probabilities(tmp_path / 'stream_elec2.csv')
    output = benchmark(
        *('--streams', 'elec2', '--data', tmp_path, '--methods', 'identity', '--delays', 0),
        status=1,
    )
    assert 'DIFFERS' in output
    assert '0 of 35 cells agree to four digits; 34 were not run' in output


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


def test_features_of_elec2_are_read_as_river_reads_them(import_benchmark, tmp_path):
    path = tmp_path / 'electricity.csv'
    header = 'date,day,period,nswprice,nswdemand,vicprice,vicdemand,transfer,class'
    path.write_text(f'{header}\n0.0,2,0.5,0.05,0.43,0.003,0.42,0.41,UP\n0,3,1,0,0,0,0,0,DOWN\n')
    data = import_benchmark('streams_data')
    (x, up), (_, down) = data.read_elec2(path)
    assert list(x) == header.split(',')[:-1]
    assert isinstance(x['day'], int)
    assert (x['period'], up, down) == (0.5, True, False)
    assert data.find('elec2', tmp_path) == path
    samples = data.load('elec2', path, None)
    assert (len(samples), samples.y) == (2, [1, 0])


def test_where_the_mixture_misses_the_best(import_benchmark):
    runs, misses = import_benchmark('runs'), import_benchmark('streams').misses
    samples = runs.Samples('x', [0.5] * 1250, [0] * 1250)
    assert runs.allowance(0, 1250) == pytest.approx(0.0021, abs=5e-5)
    assert runs.allowance(0, 5000) == 0.001
    assert list(misses(samples, {'ops': 0.3, 'mixture': 0.3009}, 0)) == []
    assert list(misses(samples, {'ops': 0.3}, 0)) == []
    (within,) = misses(samples, {'ops': 0.3, 'tops': 0.4, 'mixture': 0.302}, 0)
    assert within == ('mixture on x: .0020 above ops, within max(.001, (1+D) ln K/n) = .0021')
    (beyond,) = misses(samples, {'ops': 0.3, 'mixture': 0.303}, 0)
    assert 'beyond' in beyond
    (late,) = misses(samples, {'ops': 0.3, 'mixture': 0.303}, 20)
    assert 'within' in late


def test_best_is_that_to_four_digits(import_benchmark):
    marked = import_benchmark('tables').marked
    assert marked({'a': 0.30001, 'b': 0.30004, 'c': 1.3002}) == {
        'a': '**.3000**',
        'b': '**.3000**',
        'c': '1.3002',
    }


def test_reference_values_of_the_generated_streams(benchmark):
    output = benchmark(
        *('--streams', 'phishing,bananas,sea_drift,agrawal_drift,hyperplane,sine_drift'),
        *('--methods', 'identity,ops,beta,tops,ensemble', '--delays', 0),
    )
    assert '30 of 35 cells agree to four digits; 5 were not run' in output


def test_reference_values_of_the_files(benchmark, shared_data):
    output = benchmark(
        *('--data', shared_data('stream_elec2.csv').parent, '--streams', 'elec2,bank'),
        *('--methods', 'identity,ops,tops,ensemble', '--delays', '0,50'),
    )
    assert '4 of 35 cells agree to four digits; 31 were not run' in output
    late = output[output.index('50 samples late') :].splitlines()
    (ops,) = [line.split() for line in late[:12] if line.startswith('| ops')]
    assert ops[3].strip('*') == '.4820'
