# SPDX-License-Identifier: Apache-2.0
"""Temperatures of three networks on CIFAR-10, whose outputs are no part of the package.

Each is fitted to the first half of the outputs and tested on the second; the values were computed
independently.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from calib_node.core.calibrators import create_multiclass
from calib_node.core.calibrators.fits import (
    TemperatureMap,
    fit_temperature,
    fit_temperature_logits,
)
from calib_node.core.evaluate import forecasts
from calib_node.core.metrics import multiclass_log_loss, top_label, top_label_ece

# Temperature; ECE (15 bins) before and after; log-loss before and after; accuracy.
AT_ONCE = {
    'netcal_lenet-5-cifar-10': (1.3735838, 0.1192635, 0.0224311, 1.3904803, 1.3259977, 0.5222),
    'netcal_wideresnet-16-4-cifar-10': (
        2.0592242,
        0.0551731,
        0.0069179,
        0.3737087,
        0.270422,
        0.9112,
    ),
    'cifar10_resnet50_logits_aigen': (1.1007306, 0.0164211, 0.0143072, 0.1668301, 0.165603, 0.9512),
}
ONLINE = {
    'netcal_lenet-5-cifar-10': (1.419, 1.3128),
    'netcal_wideresnet-16-4-cifar-10': (2.109, 0.2754),
    'cifar10_resnet50_logits_aigen': (1.109, 0.1747),
}
"""Temperature after all outputs, and mean log-loss over them."""


@pytest.mark.parametrize('name', AT_ONCE)
def test_temperature_at_once_and_online(name, shared_data):
    with np.load(shared_data(f'{name}.npz'), allow_pickle=False) as file:
        if 'logits' in file:
            values, y = file['logits'].astype(float), file['labels'].astype(int)
            fitted = fit_temperature_logits(values[:5000], y[:5000])
            before = TemperatureMap(1.0).transform_logits(values)
            after = fitted.transform_logits(values)
        else:
            before, y = file['predictions'].astype(float), file['ground_truth']
            fitted = fit_temperature(before[:5000], y[:5000])
            after = fitted.transform(before)
    second = slice(5000, None)
    tests = before[second], after[second]
    found = [fitted.temperature]
    found += [top_label_ece(q, y[second], 15) for q in tests]
    found += [multiclass_log_loss(q, y[second], clip=1e-15) for q in tests]
    found.append(top_label(after[second], y[second])[1].mean())
    np.testing.assert_allclose(found, AT_ONCE[name], rtol=0, atol=1e-6)

    calibrator = create_multiclass('temperature', classes=10)
    online = forecasts(calibrator, zip(before, y.tolist()))
    temperature, loss = ONLINE[name]
    assert calibrator.temperature == pytest.approx(temperature, abs=1e-3)
    losses = [-math.log(q[label]) for q, label in zip(online, y.tolist())]
    assert np.mean(losses) == pytest.approx(loss, abs=1e-4)
    assert np.mean(losses) < np.mean(-np.log(before[np.arange(len(y)), y]))
