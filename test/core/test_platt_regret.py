# SPDX-License-Identifier: Apache-2.0
"""How far Online Platt Scaling ends from the best fixed map, which is known only afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from calib_node.core.calibrators import create


def loss_of_best_map(p, y) -> float:
    """Return the summed log-loss of the best (a, b), by Newton's method."""
    clipped = np.clip(p, 0.01, 0.99)
    features = np.stack([np.log(clipped / (1.0 - clipped)), np.ones(len(p))])
    best = np.array([1.0, 0.0])
    for _ in range(50):
        q = 1.0 / (1.0 + np.exp(-best @ features))
        best -= np.linalg.solve((features * q * (1.0 - q)) @ features.T, features @ (q - y))
    assert np.abs(features @ (q - y)).max() < 1e-6
    return -float(np.log(np.where(y == 1, q, 1.0 - q)).sum())


@pytest.mark.parametrize(
    ('name', 'regret'),
    [('phishing', 9.5), ('bananas', 9.0), ('elec2', -133.4), ('sea_drift', -199.8)],
)
def test_nats_above_the_best_fixed_map(name, regret, shared_data):
    table = np.loadtxt(shared_data(f'stream_{name}.csv'), delimiter=',', skiprows=1)
    p, y = table[:, 0], table[:, 1].astype(int)
    calibrator, output = create('ops'), []
    for sample, label in zip(p.tolist(), y.tolist()):
        output.append(calibrator.predict(sample))
        calibrator.update(sample, label)
    q = np.array(output)
    loss = -float(np.log(np.where(y == 1, q, 1.0 - q)).sum())
    assert round(loss - loss_of_best_map(p, y), 1) == regret
