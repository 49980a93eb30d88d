# SPDX-License-Identifier: Apache-2.0
"""Online Beta Scaling against values that were computed independently.

The reference has the features (ln p, ln(1 - p), 1), and so -b where this has b.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib_node.core.calibrators import create
from calib_node.core.metrics import accuracy, brier, log_loss

P = [0.8, 0.95, 0.3, 0.62, 0.999, 0.001, 0.5, 0.71, 0.2, 0.88]
Y = [0, 1, 0, 1, 0, 0, 1, 1, 1, 0]

# Parameters, and (forecast, a, b, c) before and after the sample of that number.
EMBEDDED = {
    'paper': (
        {},
        {
            0: (0.8, 1.0653191017224166, 0.5288815737714654, -0.2927223365305339),
            4: (0.9844010078993114, 1.0612426588803265, 0.00017170902078556, -0.2699876983764484),
            9: (0.672384366833112, 0.38912974947697776, -0.07519350302064495, 0.2214375194446955),
        },
    ),
    'a radius that projects': (
        {'radius': 1.2},
        {
            0: (0.8, 1.0436209058035142, 0.5183673031770812, -0.2866195107922211),
            4: (0.9736873209318864, 0.8762629937600203, -0.123169188411277, -0.22946438070834352),
            9: (0.6247450541038145, 0.24960177601596376, -0.17846902446149118, 0.25364607502300707),
        },
    ),
}

TRAJECTORIES = {'OBS(1,-1,0)': {}, 'OBS(0,0,0)': {}, 'OBS_radius1.2': {'radius': 1.2}}

STREAMS = {
    'phishing': 'Phishing',
    'elec2': 'Elec2',
    'bananas': 'Bananas',
    'sea_drift': 'SEA drift',
    'agrawal_drift': 'Agrawal drift',
    'hyperplane': 'Hyperplane',
    'sine_drift': 'SINE drift',
}


def run(calibrator, p, y):
    """Return a row (forecast, a, b, c) a sample."""
    rows = []
    for probability, label in zip(p, y):
        q, ticket = calibrator.issue(probability)
        calibrator.update(probability, label, ticket)
        rows.append((q, calibrator.a, calibrator.b, calibrator.c))
    return np.array(rows)


@pytest.mark.parametrize('name', EMBEDDED)
def test_ten_samples(name):
    parameters, expected = EMBEDDED[name]
    rows = run(create('beta', **parameters), P, Y)
    for number, row in expected.items():
        np.testing.assert_allclose(rows[number], row, rtol=0, atol=1e-12)


@pytest.mark.parametrize('name', TRAJECTORIES)
def test_every_row_of_the_trajectories(name, shared_data):
    reference = json.loads(shared_data('trajectories.json').read_text())
    calibrator = create('beta', **TRAJECTORIES[name])
    if name == 'OBS(0,0,0)':
        calibrator.restore({**calibrator.state(), 'a': 0.0, 'b': 0.0, 'c': 0.0})
    rows = run(calibrator, reference['p'], reference['y']) * [1, 1, -1, 1]
    np.testing.assert_allclose(rows, reference[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize('stream', STREAMS)
def test_stream(stream, shared_data):
    table = np.loadtxt(shared_data(f'stream_{stream}.csv'), delimiter=',', skiprows=1)
    p, y, expected = table[:, 0], table[:, 1].astype(int), table[:, 4]
    rows = run(create('beta'), p.tolist(), y.tolist())
    np.testing.assert_allclose(rows[:, 0], expected, rtol=0, atol=1e-9)
    checkpoints = json.loads(shared_data('trajectories.json').read_text())['checkpoints']
    for number, checkpoint in checkpoints.get(stream, {}).items():
        row = rows[int(number) - 1, 1:] * [1, -1, 1]
        np.testing.assert_allclose(row, checkpoint['OBS'], rtol=0, atol=1e-9)
    reference = json.loads(shared_data('seven_streams_ref.json').read_text())[STREAMS[stream]]
    q = rows[:, 0]
    scores = accuracy(q, y), log_loss(q, y), brier(q, y)
    np.testing.assert_allclose(scores, reference['obs'], rtol=0, atol=1e-9)
