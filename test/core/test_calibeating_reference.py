# SPDX-License-Identifier: Apache-2.0
"""Tracking and hedging against values that were computed independently."""

from __future__ import annotations

import numpy as np
import pytest

from calib_node.core.calibrators import create
from calib_node.core.evaluate import forecasts
from calib_node.core.metrics import brier, ece, log_loss

P = [0.8, 0.95, 0.3, 0.62, 0.999, 0.001, 0.5, 0.71, 0.2, 0.88]
Y = [0, 1, 0, 1, 0, 0, 1, 1, 1, 0]
TOPS = [0.85, 0.95, 0.35, 0.55, 1.0, 0.05, 0.45, 0.65, 0.25, 0.75]


# Standard deviation of accuracy, log-loss and Brier score over 40 seeds, the largest of any
# stream: what two random forecasters of this kind differ by.


# Log-loss and Brier score, means over ten forests.
FORESTS = {
    'bank': {
        'identity': (0.52411, 0.17098),
        'beta': (0.52054, 0.17037),
        'tops': (0.52073, 0.17075),
        'tobs': (0.52114, 0.17087),
        'hops': (0.52486, 0.1721),
        'hobs': (0.52392, 0.17186),
    },
    'credit': {
        'identity': (0.45517, 0.14297),
        'beta': (0.45018, 0.14208),
        'tops': (0.45049, 0.14218),
        'tobs': (0.45093, 0.14228),
        'hops': (0.45581, 0.14342),
        'hobs': (0.45442, 0.14312),
    },
}


def test_ten_samples_through_tracking():
    np.testing.assert_allclose(forecasts(create('tops'), zip(P, Y)), TOPS, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize('name', FORESTS)
def test_forest_of_the_paper(name, shared_data):
    """The reference is the mean over ten forests, of which one is here.

    So what a method gains on its own forest is compared, once it has seen the 1000 samples that
    the paper's methods are fitted to.
    """
    table = np.loadtxt(shared_data(f'paper_{name}_rf_seed0.csv'), delimiter=',', skiprows=1)
    p, y = table[:, 0], table[:, 1].astype(int)
    errors, gains = {}, {}
    for method in FORESTS[name]:
        q = np.array(forecasts(create(method), zip(p.tolist(), y.tolist())))[1000:]
        errors[method] = ece(q, y[1000:], 10, closed='right')
        gains[method] = log_loss(q, y[1000:]), brier(q, y[1000:])
    for method, expected in FORESTS[name].items():
        gain = np.subtract(gains[method], gains['identity'])
        expected_gain = np.subtract(expected, FORESTS[name]['identity'])
        assert np.all(np.abs(gain - expected_gain) < (0.002, 0.001)), method
    assert max(errors['tops'], errors['tobs']) < 0.01
    assert max(errors['hops'], errors['hobs']) < 0.8 * errors['identity']
