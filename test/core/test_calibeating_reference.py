# SPDX-License-Identifier: Apache-2.0
"""Tracking and hedging against values that were computed independently."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib_node.core.calibrators import create
from calib_node.core.metrics import accuracy, brier, log_loss

P = [0.8, 0.95, 0.3, 0.62, 0.999, 0.001, 0.5, 0.71, 0.2, 0.88]
Y = [0, 1, 0, 1, 0, 0, 1, 1, 1, 0]
TOPS = [0.85, 0.95, 0.35, 0.55, 1.0, 0.05, 0.45, 0.65, 0.25, 0.75]

STREAMS = {
    'phishing': 'Phishing',
    'elec2': 'Elec2',
    'bananas': 'Bananas',
    'sea_drift': 'SEA drift',
    'agrawal_drift': 'Agrawal drift',
    'hyperplane': 'Hyperplane',
    'sine_drift': 'SINE drift',
}

# Standard deviation of accuracy, log-loss and Brier score over 40 seeds, the largest of any
# stream: what two random forecasters of this kind differ by.
SPREAD = np.array([0.0030, 0.0024, 0.0008])


def run(calibrator, p, y) -> np.ndarray:
    forecasts = []
    for probability, label in zip(p, y):
        q, ticket = calibrator.issue(probability)
        calibrator.update(probability, label, ticket)
        forecasts.append(q)
    return np.array(forecasts)


def scores(q: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([accuracy(q, y), log_loss(q, y), brier(q, y)])


def test_ten_samples_through_tracking():
    np.testing.assert_allclose(run(create('tops'), P, Y), TOPS, rtol=0, atol=1e-12)


@pytest.mark.parametrize('stream', STREAMS)
def test_stream(stream, shared_data):
    table = np.loadtxt(shared_data(f'stream_{stream}.csv'), delimiter=',', skiprows=1)
    p, y, expected = table[:, 0].tolist(), table[:, 1].astype(int), table[:, 3]
    reference = json.loads(shared_data('seven_streams_ref.json').read_text())[STREAMS[stream]]

    tracked = run(create('tops'), p, y.tolist())
    np.testing.assert_allclose(tracked, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(scores(tracked, y), reference['tops'], rtol=0, atol=1e-9)

    # The reference had other random numbers.
    hedged = scores(run(create('hops'), p, y.tolist()), y)
    assert np.all(np.abs(hedged - reference['hops']) < 4 * np.sqrt(2) * SPREAD)


@pytest.mark.parametrize('name', ['bank', 'credit'])
def test_forest_of_the_paper(name, shared_data):
    """The reference is the mean over ten forests, of which one is here.

    So what a method gains on its own forest is compared, once it has seen the 1000 samples that
    the paper's methods are fitted to.
    """
    reference = json.loads(shared_data('paper_real_ref.json').read_text())[name]
    data = shared_data(f'paper_{name}_rf_seed0.csv')
    table = np.loadtxt(data, delimiter=',', skiprows=1)
    p, y = table[:, 0], table[:, 1].astype(int)

    def calibration_error(q: np.ndarray) -> float:
        bins = np.clip(np.ceil(q * 10 - 1e-9).astype(int) - 1, 0, 9)
        return float(np.abs(np.bincount(bins, q - y[1000:], 10)).sum() / len(q))

    errors = {'BM': calibration_error(p[1000:])}
    for method in ('OBS', 'TOPS', 'TOBS', 'HOPS', 'HOBS'):
        calibrator = create({'OBS': 'beta'}.get(method, method.lower()))
        q = run(calibrator, p.tolist(), y.tolist())[1000:]
        errors[method] = calibration_error(q)
        gain = log_loss(q, y[1000:]) - log_loss(p[1000:], y[1000:])
        expected = reference[method]['logloss'] - reference['BM']['logloss']
        assert gain == pytest.approx(expected, abs=0.002)
        gain = brier(q, y[1000:]) - brier(p[1000:], y[1000:])
        expected = reference[method]['brier'] - reference['BM']['brier']
        assert gain == pytest.approx(expected, abs=0.001)
    assert max(errors['TOPS'], errors['TOBS']) < 0.01
    assert max(errors['HOPS'], errors['HOBS']) < 0.8 * errors['BM']
