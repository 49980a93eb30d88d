# SPDX-License-Identifier: Apache-2.0
"""Online Beta Scaling against values that were computed independently.

The reference has the features (ln p, ln(1 - p), 1), and so -b where this has b.
"""

from __future__ import annotations

import numpy as np
import pytest
from references import reference

from calib_node.core.calibrators import create

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
def test_every_row_of_the_trajectories(name):
    rows_of = reference('trajectories')
    calibrator = create('beta', **TRAJECTORIES[name])
    if name == 'OBS(0,0,0)':
        calibrator.restore({**calibrator.state(), 'a': 0.0, 'b': 0.0, 'c': 0.0})
    rows = run(calibrator, rows_of['p'], rows_of['y']) * [1, 1, -1, 1]
    np.testing.assert_allclose(rows, rows_of[name], rtol=0, atol=1e-12)
