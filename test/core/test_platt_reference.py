# SPDX-License-Identifier: Apache-2.0
"""Online Platt Scaling against values that were computed independently."""

from __future__ import annotations

import numpy as np
import pytest
from references import reference

from calib_node.core.calibrators import create

P = [0.8, 0.95, 0.3, 0.62, 0.999, 0.001, 0.5, 0.71, 0.2, 0.88]
Y = [0, 1, 0, 1, 0, 0, 1, 1, 1, 0]

# Parameters, and (forecast, a, b) before and after the sample of that number.
EMBEDDED = {
    'paper': (
        {},
        {
            0: (0.8, 0.8911322344691429, -0.07853149272201494),
            4: (0.9870941493341568, 0.5885987341268455, -0.1383351975893987),
            9: (0.7530206682389655, 0.43391605867782357, -0.04809857405938245),
        },
    ),
    'a radius that projects': (
        {'radius': 0.9},
        {
            1: (0.9272607036715882, 0.8972593721616943, -0.07018275477638693),
            4: (0.98325524156124, 0.5307471224893848, -0.13227894149853936),
            9: (0.734988832469042, 0.3871869235450438, -0.0431528825981958),
        },
    ),
    'large first steps': (
        {'rho': 1.0},
        {
            0: (0.8, -2.864289393526321, -2.7874955723001205),
            4: (0.0163609078697412, -1.1031819108723453, 0.6120830476325991),
            9: (0.8933476803420275, -0.19637844774053054, 0.3025550406212991),
        },
    ),
}

TRAJECTORIES = {
    'OPS(1,0)': {},
    'OPS(0,0)': {},
    'OPS_radius0.9': {'radius': 0.9},
    'OPS_gamma0.1_rho1': {'rho': 1.0},
}


def run(calibrator, p, y):
    """Return a row (forecast, a, b) a sample."""
    rows = []
    for probability, label in zip(p, y):
        q, ticket = calibrator.issue(probability)
        calibrator.update(probability, label, ticket)
        rows.append((q, calibrator.a, calibrator.b))
    return np.array(rows)


def test_first_step():
    calibrator = create('ops')
    assert calibrator.predict(0.8) == 0.8
    calibrator.update(0.8, 0)
    assert calibrator.a == pytest.approx(0.89113223, abs=5e-9)
    assert calibrator.b == pytest.approx(-0.07853149, abs=5e-9)
    assert calibrator.predict(0.8) == pytest.approx(0.76075807, abs=5e-9)


@pytest.mark.parametrize('name', EMBEDDED)
def test_ten_samples(name):
    parameters, expected = EMBEDDED[name]
    rows = run(create('ops', **parameters), P, Y)
    for number, row in expected.items():
        np.testing.assert_allclose(rows[number], row, rtol=0, atol=1e-12)


@pytest.mark.parametrize('name', TRAJECTORIES)
def test_every_row_of_the_trajectories(name):
    rows_of = reference('trajectories')
    calibrator = create('ops', **TRAJECTORIES[name])
    if name == 'OPS(0,0)':
        calibrator.restore({**calibrator.state(), 'a': 0.0, 'b': 0.0})
    rows = run(calibrator, rows_of['p'], rows_of['y'])
    np.testing.assert_allclose(rows, rows_of[name], rtol=0, atol=1e-12)
