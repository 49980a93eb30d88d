# SPDX-License-Identifier: Apache-2.0
"""The mixture on real and generated streams, beside every other method."""

from __future__ import annotations

from collections import deque
from functools import cache
from math import log

import numpy as np
import pytest

from calib_node.core.calibrators import CALIBRATORS, create
from calib_node.core.calibrators.mixture.experts import NAMES
from calib_node.core.metrics import log_loss

LOSSES = {
    ('phishing', 0): 0.3623,
    ('phishing', 50): 0.3614,
    ('elec2', 0): 0.2846,
    ('elec2', 50): 0.4648,
    ('sea_drift', 0): 0.1400,
    ('sea_drift', 50): 0.1430,
    ('agrawal_drift', 0): 0.3199,
    ('agrawal_drift', 50): 0.3286,
    ('sine_drift', 20): 0.2974,
    ('hyperplane', 300): 0.5073,
}


@cache
def loaded(path):
    table = np.loadtxt(path, delimiter=',', skiprows=1)
    return table[:, 0].tolist(), table[:, 1].astype(int).tolist()


def loss_of(method, p, y, delay):
    calibrator, pending, output = create(method), deque(), []
    for sample in zip(p, y):
        q, ticket = calibrator.issue(sample[0])
        output.append(q)
        pending.append((*sample, ticket))
        if len(pending) > delay:
            calibrator.update(*pending.popleft())
    return log_loss(output, y)


@pytest.mark.parametrize(('name', 'delay'), LOSSES)
def test_log_loss_is_as_measured_and_near_that_of_the_best_method(name, delay, shared_data):
    p, y = loaded(shared_data(f'stream_{name}.csv'))
    loss = loss_of('mixture', p, y, delay)
    assert round(loss, 4) == LOSSES[name, delay]
    best = min(loss_of(method, p, y, delay) for method in CALIBRATORS if method != 'mixture')
    assert loss <= best + max(0.001, (1 + delay) * log(len(NAMES)) / len(p))
