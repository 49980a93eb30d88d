# SPDX-License-Identifier: Apache-2.0
"""The step-size ensemble against values and an oracle that were computed independently."""

from __future__ import annotations

import json
import random
from collections import deque

import numpy as np
import pytest
from ensemble_oracle import divergence, forecasts

from calib_node.core.calibrators import create
from calib_node.core.calibrators.divergence import HalvesDivergence
from calib_node.core.calibrators.sgd import logistic, sgd_step
from calib_node.core.metrics import accuracy, brier, log_loss

STREAMS = {
    'phishing': 'Phishing',
    'elec2': 'Elec2',
    'bananas': 'Bananas',
    'sea_drift': 'SEA drift',
    'agrawal_drift': 'Agrawal drift',
    'hyperplane': 'Hyperplane',
    'sine_drift': 'SINE drift',
}

ELEC2_PARTS = {
    'step size 0.1': ({'averaging': False, 'spring': False, 'auto': False}, '.8348/.4103/.1241'),
    'averaging': ({'spring': False, 'auto': False}, '.8626/.3562/.1050'),
    'spring': ({'averaging': False, 'auto': False}, '.8360/.4048/.1217'),
    'auto': ({'averaging': False, 'spring': False}, '.8348/.4103/.1241'),
    'averaging and spring': ({'auto': False}, '.8644/.3537/.1042'),
    'all': ({}, '.8644/.3537/.1042'),
}


def stream(count, seed=1, shift=0.0):
    """Return probabilities that are too bold, drift half way, and touch 0 and 1."""
    generator = random.Random(seed)
    p, y = [], []
    for i in range(count):
        truth = generator.betavariate(2, 2) if i < count // 2 else generator.betavariate(1, 3)
        p.append(min(max(round(1.6 * truth - 0.3 + shift, 2), 0.0), 1.0))
        y.append(int(generator.random() < truth))
    return p, y


def run(calibrator, p, y, delay=0):
    """Return the forecasts, each label learned `delay` predictions late."""
    pending, output = deque(), []
    for sample in zip(p, y):
        q, ticket = calibrator.issue(sample[0])
        output.append(q)
        pending.append((*sample, ticket))
        if len(pending) > delay:
            calibrator.update(*pending.popleft())
    return output


def scores(q, y):
    return accuracy(q, y), log_loss(q, y), brier(q, y)


def loaded(path):
    table = np.loadtxt(path, delimiter=',', skiprows=1)
    return table[:, 0].tolist(), table[:, 1].astype(int).tolist()


@pytest.mark.parametrize('delay', [0, 1, 37])
@pytest.mark.parametrize(
    'parameters',
    [
        {},
        {'averaging': False},
        {'spring': False},
        {'auto': False, 'warmup': 1},
        {'warmup': 61, 'clip': 0.2},
        {'averaging': False, 'spring': False, 'auto': False, 'clip': 1e-9},
    ],
    ids=str,
)
def test_forecasts_are_those_of_the_oracle(parameters, delay):
    p, y = stream(900)
    expected = forecasts(p, y, **parameters, delay=delay)
    np.testing.assert_allclose(
        run(create('ensemble', **parameters), p, y, delay), expected, rtol=0, atol=1e-11
    )


def test_probability_that_is_good_enough_is_clipped_for_ever():
    generator = random.Random(3)
    p = [generator.random() for _ in range(1500)]
    y = [int(generator.random() < value) for value in p]
    calibrator = create('ensemble', warmup=1000)
    y[1000:] = [1] * 500
    q = run(calibrator, p, y)
    assert calibrator.calibrates is False
    assert q == [min(max(value, 0.01), 0.99) for value in p]
    np.testing.assert_allclose(q, forecasts(p, y, warmup=1000), rtol=0, atol=1e-15)


@pytest.mark.parametrize('digits', [1, 2, 17])
def test_divergence_is_that_of_the_oracle(digits):
    """With one digit the range hardly ever changes; with many it often does."""
    generator = random.Random(digits)
    values = [round(generator.betavariate(1 + i / 200, 2), digits) for i in range(600)]
    values[200:300] = [0.5] * 100
    values[300:400] = [0.5 + i * 1e-14 for i in range(100)]
    halves = HalvesDivergence()
    for i, value in enumerate(values):
        expected = divergence(values[i - 59 : i + 1]) if i >= 59 else 0.0
        assert halves.push(value) == pytest.approx(expected, abs=1e-13), i


def test_divergence_of_halves_with_nothing_in_common():
    halves = HalvesDivergence([0.2] * 30 + [0.7] * 29)
    p, q = 31 / 40, 1 / 40
    middle = (p + q) / 2
    expected = p * np.log2(p / middle) + q * np.log2(q / middle)
    assert halves.push(0.7) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize('name', STREAMS)
def test_stream(name, shared_data):
    p, y = loaded(shared_data(f'stream_{name}.csv'))
    reference = json.loads(shared_data('seven_streams_ref.json').read_text())[STREAMS[name]]
    q = run(create('ensemble'), p, y)
    np.testing.assert_allclose(scores(q, y), reference['jsd'], rtol=0, atol=1e-9)


@pytest.mark.parametrize('part', ELEC2_PARTS)
def test_parts_on_elec2(part, shared_data):
    parameters, expected = ELEC2_PARTS[part]
    p, y = loaded(shared_data('stream_elec2.csv'))
    found = scores(run(create('ensemble', **parameters), p, y), y)
    assert '/'.join(f'{value:.4f}'[1:] for value in found) == expected


def test_step_size_1_on_elec2(shared_data):
    p, y = loaded(shared_data('stream_elec2.csv'))
    parameters, q = (0.0, 0.0), []
    for i, (value, label) in enumerate(zip(p, y)):
        clipped = min(max(value, 0.01), 0.99)
        logit = float(np.log(clipped / (1 - clipped)))
        q.append(logistic(parameters, logit) if i >= 500 else clipped)
        parameters = sgd_step(parameters, logit, label, 1.0)
    assert [round(value, 4) for value in scores(q, y)] == [0.8718, 0.4657, 0.1114]
