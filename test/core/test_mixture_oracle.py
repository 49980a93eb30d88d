# SPDX-License-Identifier: Apache-2.0
"""The mixture against an oracle that was written from its description."""

from __future__ import annotations

import random

import numpy as np
import pytest
from mixture_oracle import Oracle, Stacks

from calib_node.core.calibrators import Mixture, UpdateNotFinite
from calib_node.core.numerics.newton_logistic import NewtonLogistic


def stream(count, seed, digits=17):
    """Return probabilities that are too bold, drift half way, and touch 0 and 1."""
    generator = random.Random(seed)
    samples = []
    for i in range(count):
        truth = generator.betavariate(2, 2) if i < count // 2 else generator.betavariate(1, 3)
        p = min(max(round(1.6 * truth - 0.3, digits), 0.0), 1.0)
        samples.append((p, int(generator.random() < truth)))
    return samples


def at_delay(count, delay):
    """Yield what happens: prediction i is issued, then label i - delay comes."""
    for i in range(count):
        yield i, False
        if i >= delay:
            yield i - delay, True


def at_random(count, seed):
    """Yield labels that come late by 0 to 125, in no order, some in bursts, and a fifth never."""
    generator = random.Random(seed)
    events = []
    for i in range(count):
        events.append((i, 0.0, i, False))
        if generator.random() < 0.8:
            when = i + generator.choice([0, 0, 3, 40, 120]) + generator.randrange(5)
            if generator.random() < 0.3:
                when += -when % 7
            events.append((when, 1.0 + generator.random(), i, True))
    yield from ((i, labelled) for _, _, i, labelled in sorted(events))


ORDERS = {
    'at once': lambda count: at_delay(count, 0),
    '5 late': lambda count: at_delay(count, 5),
    '50 late': lambda count: at_delay(count, 50),
    'variably late': lambda count: at_random(count, 3),
}


CASES = [('variably late', 17), *((order, 17) for order in ORDERS if order != 'variably late')]
CASES += [('at once', 2), ('variably late', 2)]


@pytest.mark.parametrize(
    ('order', 'digits'),
    [CASES[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:])],
)
def test_forecasts_and_weights_are_those_of_the_oracle(order, digits):
    count = 1300
    samples = stream(count, 7, digits)
    mixture, oracle = Mixture(), Oracle()
    tickets = {}
    for i, labelled in ORDERS[order](count):
        p, y = samples[i]
        if labelled:
            ticket, issued = tickets.pop(i)
            mixture.update(p, y, ticket)
            oracle.learn(issued, y)
            continue
        q, ticket = mixture.issue(p)
        expected, issued = oracle.issue(p)
        tickets[i] = ticket, issued
        assert q == pytest.approx(expected, rel=0, abs=1e-9), i
        np.testing.assert_allclose(ticket.forecasts, issued.experts, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ticket.members, issued.members, rtol=0, atol=1e-9)
    assert mixture.delay == np.median(oracle.delays[-100:])
    found = list(mixture.weights.values())
    np.testing.assert_allclose(found, oracle.weights(), rtol=0, atol=1e-9)


def random_features(generator, size):
    return np.append(generator.normal(0.0, generator.choice([0.1, 1.0, 7.0]), size - 1), 1.0)


def test_stacks_are_those_of_the_oracle_up_to_the_limit_of_their_norm():
    """Labels that a line tells apart drive the parameters outward for ever."""
    generator = np.random.default_rng(2)
    start = [0.5, -0.5, 0.0, 0.0]
    ours, oracle = NewtonLogistic(start, (1.0, 0.05), 0.1), Stacks(start, (1.0, 0.05), 0.1)
    norms = []
    for i in range(600):
        u = random_features(generator, 4)
        found = ours.forecast(u)
        np.testing.assert_allclose(found, oracle.forecast(u), rtol=0, atol=1e-9, err_msg=str(i))
        y = int(u @ [1.0, 2.0, -1.0, 0.5] > 0.0) if i < 400 else int(generator.integers(2))
        ours.learn(u, y)
        oracle.learn(u, y)
        norms.append([np.linalg.norm(v) for v in oracle.v])
    assert np.max(norms) == pytest.approx(100.0, rel=1e-12)
    assert np.min(norms[-1]) < 99.0


@pytest.mark.slow
def test_root_is_that_of_the_inverse_hessian_after_long():
    generator = np.random.default_rng(3)
    size = 6
    ours = NewtonLogistic([0.0] * size, (1.0, 0.25), 10.0)
    oracle = Stacks([0.0] * size, (1.0, 0.25), 10.0)
    direction = generator.normal(size=size)
    for _ in range(5000):
        # Hardly anything but one direction, as of experts that all but agree.
        u = direction * generator.normal() + 1e-6 * generator.normal(size=size)
        y = int(generator.integers(2))
        ours.learn(u, y)
        oracle.learn(u, y)
        assert ours.forecast(u) == pytest.approx(oracle.forecast(u), rel=0, abs=1e-6)
    squares = np.linalg.svd(ours.root, compute_uv=False) ** 2
    expected = 1.0 / np.linalg.eigvalsh(oracle.hessian)
    np.testing.assert_allclose(squares, expected, rtol=1e-5)


def test_stack_refuses_an_update_that_is_not_finite():
    ours = NewtonLogistic([0.0, 0.0], (1.0, 0.25), 10.0)
    ours.learn(np.array([1.0, 1.0]), 1)
    before = ours.root.copy(), ours.parameters.copy()
    for u in ([1e200, 1.0], [np.nan, 1.0]):
        with np.errstate(all='ignore'), pytest.raises(UpdateNotFinite):
            ours.learn(np.array(u), 0)
        np.testing.assert_array_equal(ours.root, before[0])
        np.testing.assert_array_equal(ours.parameters, before[1])
