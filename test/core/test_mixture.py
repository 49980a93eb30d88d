# SPDX-License-Identifier: Apache-2.0
"""What the mixture promises for any input; test_mixture_oracle.py has the values."""

from __future__ import annotations

import math
import random
from collections import deque

import numpy as np
import pytest
import yaml

from calib_node.core.calibrators import CALIBRATORS, Mixture, create
from calib_node.core.calibrators.mixture.experts import NAMES
from calib_node.core.evaluate import forecasts

EDGES = [0.0, 5e-324, 1e-300, 1e-9, 0.001, 0.01, 0.5, 0.99, 1.0 - 1e-9, 1.0 - 2**-53, 1.0]


def noise(count, seed=0):
    generator = random.Random(seed)
    return [(generator.random(), generator.randint(0, 1)) for _ in range(count)]


def learned(stream):
    mixture = Mixture()
    for p, y in stream:
        mixture.update(p, y)
    return mixture


def numbers(value):
    """Yield every number at any depth of a state."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif not isinstance(value, str):
        yield value


def assert_sound(mixture):
    assert all(math.isfinite(number) for number in numbers(mixture.state()))
    weights = mixture.weights
    assert math.fsum(weights.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(weights.values()) > 0.0
    for p in EDGES:
        assert 0.001 - 1e-12 <= mixture.predict(p) <= 0.999 + 1e-12
    Mixture().restore(mixture.state())


def test_it_is_a_method_with_nothing_to_set():
    assert CALIBRATORS['mixture'] is Mixture
    assert create('mixture').parameters() == {}
    with pytest.raises(ValueError, match='mixture has no parameter'):
        create('mixture').configure(clip=0.1)


def test_clipped_p_goes_out_until_the_first_label():
    mixture = Mixture()
    (q, ticket), (other, _) = mixture.issue(0.83), mixture.issue(0.999999)
    assert (q, other) == (0.83, 0.99)
    mixture.update(0.83, 0, ticket)
    assert mixture.predict(0.83) < 0.83
    mixture.reset()
    assert mixture.predict(0.83) == 0.83


def test_the_experts_start_from_p_but_for_the_tallies_and_the_base_rate():
    mixture = Mixture()
    _, ticket = mixture.issue(0.83)
    expected = dict.fromkeys(NAMES, 0.83)
    expected.update({'tops': 0.85, 'tobs': 0.85, 'base rate': 0.5})
    logits = [math.log(expected[name] / (1.0 - expected[name])) for name in NAMES[1:10]]
    stacked = 1.0 / (1.0 + math.exp(-sum(logits) / 9.0))
    expected.update({name: stacked for name in NAMES if name.startswith('stack')})
    assert ticket.forecasts.tolist() == pytest.approx(list(expected.values()), rel=1e-12)
    mean = math.fsum(expected.values()) / 13.0
    assert ticket.members.tolist() == pytest.approx([mean] * 9, rel=1e-12)
    assert list(mixture.weights) == list(NAMES)
    assert list(mixture.weights.values()) == pytest.approx([1.0 / 13.0] * 13, rel=1e-12)


def test_experts_are_the_methods_they_are_named_for():
    """Each forecasts, with labels 3 late, what the method alone does, clipped."""
    alone = {
        'identity': create('identity'),
        'ops': create('ops'),
        'beta': create('beta'),
        'tops': create('tops', pseudo_count=1.0),
        'tobs': create('tobs', pseudo_count=1.0),
        'ops, forgetting 0.999': create('ops', forgetting=0.999),
        'isotonic steps': create('isotonic'),
        'isotonic lines': create('isotonic', interpolate=True),
        'windowed temperature': create('windowed_temperature'),
    }
    mixture, pending = Mixture(), deque()
    for p, y in noise(400):
        ticket = mixture.issue(p)[1]
        own = {name: calibrator.issue(p) for name, calibrator in alone.items()}
        forecasts = dict(zip(NAMES, ticket.forecasts.tolist()))
        for name, (q, _) in own.items():
            assert forecasts[name] == min(max(q, 0.001), 0.999), name
        pending.append((p, y, ticket, own))
        if len(pending) > 3:
            p, y, ticket, own = pending.popleft()
            mixture.update(p, y, ticket)
            for name, calibrator in alone.items():
                calibrator.update(p, y, own[name][1])


def test_fast_map_forgets_less_the_later_labels_come():
    """With labels at once it is Platt scaling that forgets a hundredth."""
    alone, mixture = create('ops', forgetting=0.99, rho=10.0), Mixture()
    for p, y in noise(300):
        found = mixture.issue(p)[1].forecasts[NAMES.index('ops, forgetting 0.99')]
        assert found == pytest.approx(alone.predict(p), rel=1e-12)
        mixture.update(p, y)
        alone.update(p, y)

    sizes = []
    for delay in (0, 50, 300):
        mixture = Mixture()
        forecasts(mixture, noise(1000, 1), delay)
        sizes.append(mixture.state()['experts']['fast'][4])
    assert sizes[0] < sizes[1] < sizes[2]


def test_figures_are_the_weights_and_the_delay():
    mixture = learned(noise(60))
    figures = mixture.figures()
    assert {name: figures.pop(f'weight of {name}') for name in NAMES} == mixture.weights
    assert figures == {'delay of labels': 0.0, 'updates': 60}


@pytest.mark.parametrize(('late', 'count'), [(0, 5000), (10, 1500)])
def test_certain_and_wrong_for_ever(late, count):
    mixture = Mixture()
    for q in forecasts(mixture, [(1.0, 0)] * count, late):
        assert 0.0 <= q <= 1.0
    assert mixture.predict(1.0) < 0.002
    assert_sound(mixture)


def test_certain_and_wrong_after_certain_and_right():
    mixture = learned([(1.0, 1), (0.0, 0)] * 1500)
    assert mixture.predict(1.0) > 0.998
    for _ in range(1000):
        mixture.update(1.0, 0)
        mixture.update(0.0, 1)
    assert mixture.predict(1.0) < 0.01
    assert mixture.predict(0.0) > 0.99
    assert_sound(mixture)


@pytest.mark.slow
def test_stacks_stay_sound_on_a_long_stream():
    """What they are made of all but agrees, and so their features are all but dependent."""
    generator = np.random.default_rng(5)
    mixture = Mixture()
    p = generator.uniform(0.3, 0.7, 10_000).tolist()
    y = (generator.uniform(size=10_000) < p).astype(int).tolist()
    for sample in zip(p, y):
        mixture.update(*sample)
    root = np.array(mixture.state()['experts']['stack']['root'])
    singular = np.linalg.svd(root, compute_uv=False)
    assert 0.0 < singular.min() < 0.2 * singular.max()
    assert singular.max() <= 10.0**-0.5 * (1.0 + 1e-12)
    assert_sound(mixture)


@pytest.mark.parametrize('delay', [0, 20])
@pytest.mark.parametrize('count', [pytest.param(49, id='the last before a fit'), 50, 1069])
def test_a_saved_state_goes_on_to_the_last_bit(count, delay):
    """Also where its experts have windows that run over."""
    mixture, other = Mixture(), Mixture()
    forecasts(mixture, noise(count), delay)
    other.restore(yaml.safe_load(yaml.safe_dump(mixture.state())))
    assert other.weights == mixture.weights
    samples = noise(120, 1)
    assert forecasts(other, samples, delay) == forecasts(mixture, samples, delay)
    assert other.state() == mixture.state()


def test_restoring_leaves_nothing_of_what_was_learned_before():
    mixture, other = learned(noise(130)), Mixture()
    forecasts(other, noise(1100), 7)
    other.restore(mixture.state())
    samples = noise(120, 1)
    assert forecasts(other, samples) == forecasts(mixture, samples)
    assert other.state() == mixture.state()


def test_predictions_pending_while_restoring_keep_their_places():
    mixture = learned(noise(130))
    state = mixture.state()
    tickets = [mixture.issue(p)[1] for p, _ in noise(9)]
    mixture.restore(state)
    mixture.update(0.5, 1, tickets[3])
    assert mixture.state()['delays'][-1] == 5
