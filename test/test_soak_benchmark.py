# SPDX-License-Identifier: Apache-2.0
"""The soak: a short run of it, and what it calls broken."""

from __future__ import annotations

import pytest

from calib_node.core.calibrators import CALIBRATORS


@pytest.fixture
def soak(import_benchmark):
    return import_benchmark('soak')


@pytest.mark.parametrize('method', list(CALIBRATORS))
def test_figures_of_a_short_run_are_exact(soak, method):
    run = soak.PipelineRun(method)
    assert run.error() == 0.0
    for first in (1, 1001, 2001):
        run.part(first, 1000)
        assert run.error() < soak.ERROR
    assert run.processor_seconds() > 0.0
    assert soak.megabytes(run.process) > 1.0


def test_a_figure_that_is_off_is_seen(soak):
    run = soak.PipelineRun('ops')
    run.part(1, 1000)
    raw, calibrated = run.figures()
    run.figures = lambda: (raw, [*calibrated[:-1], calibrated[-1] + 0.01])
    assert run.error() == pytest.approx(0.01)
    # The node publishes the last of them alone.
    run.figures = lambda: (raw[2:], [calibrated[2] + 0.02, *calibrated[3:]])
    assert run.error() == pytest.approx(0.02)


def test_a_whole_run_goes_through_every_sample_and_tells(soak, capsys):
    run = soak.PipelineRun('ops')
    parts = []
    run.part = lambda first, number: parts.append((first, number))
    run.processor_seconds = iter(range(1000)).__next__
    assert soak.measure(run, 1050)
    numbers = [first + i for first, number in parts for i in range(number)]
    assert numbers == list(range(1, 1051))
    assert '1,050 samples in' in capsys.readouterr().out


QUIET = {'seconds': [1.0] * 20, 'sizes': [10] * 20, 'memory': [40.0] * 20, 'error': 1e-15}


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({}, ''),
        ({'memory': [40.0] * 10 + [45.1] * 10}, 'memory has grown by 5.1 MB'),
        ({'memory': [20.0] * 5 + [40.0] * 15}, ''),
        ({'error': 2e-9}, 'a figure was off by 2.0e-09'),
        ({'seconds': [1.0] * 18 + [1.06] * 2}, '5.7% slower'),
        ({'seconds': [1.0] * 10 + [1.06] * 8 + [1.0] * 2}, ''),
        ({'seconds': [1.0] * 18 + [0.5] * 2}, ''),
    ],
)
def test_what_is_out_of_bounds_is_told_and_fails(soak, capsys, change, words):
    assert soak.judge(**{**QUIET, **change}, settled=5) is not bool(words)
    assert words in capsys.readouterr().out
