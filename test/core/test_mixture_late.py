# SPDX-License-Identifier: Apache-2.0
"""The mixture with late labels: it goes by the forecasts that were issued."""

from __future__ import annotations

import random
from collections import deque
from math import log, sqrt

import numpy as np
import pytest
from references import read_stream

from calib_node.core.calibrators import Mixture, create
from calib_node.core.calibrators.mixture.delays import Delays
from calib_node.core.calibrators.mixture.weights import FIXED_SHARE, Weights
from calib_node.core.calibrators.sgd import logistic, sgd_step
from calib_node.core.evaluate import forecasts
from calib_node.core.metrics import log_loss


def noise(count, seed=0):
    generator = random.Random(seed)
    return [(generator.random(), generator.randint(0, 1)) for _ in range(count)]


@pytest.fixture
def elec2(shared_data):
    return read_stream('elec2', shared_data).samples


def weighed(before, forecasts, members, y, delay, t):
    """Return the weights that a label makes of a state's, as the description of `Weights` says."""
    rates = [1.0, 1.0 / sqrt(1.0 + delay), 1.0 / (1.0 + delay)]
    rows = []
    for k, row in enumerate(before['experts']):
        likelihood = forecasts if y else 1.0 - forecasts
        product = np.array(row) * likelihood ** rates[k % 3]
        share = (0.0, 1.0 / (t + 1.0), FIXED_SHARE)[k // 3]
        rows.append((1.0 - share) * product / product.sum() + share / len(product))
    product = np.array(before['members']) * (members if y else 1.0 - members) ** rates[2]
    return {'experts': rows, 'members': product / product.sum()}


def assert_weights(mixture, expected):
    for key, value in mixture.state()['weights'].items():
        np.testing.assert_allclose(value, expected[key], rtol=1e-9, atol=1e-250)


def test_experts_are_weighed_by_what_they_forecast_when_the_prediction_was_issued():
    mixture = Mixture()
    for sample in noise(130):
        mixture.update(*sample)
    _, ticket = mixture.issue(0.9)
    for p, _ in noise(150, 1):
        mixture.update(p, int(p < 0.5))
    now = mixture.issue(0.9)[1]
    assert np.abs(ticket.forecasts - now.forecasts).max() > 0.3
    before = mixture.state()['weights']
    mixture.update(0.9, 0, ticket)
    assert mixture.delay == 0.0
    expected = weighed(before, ticket.forecasts, ticket.members, 0, 0.0, mixture.updates)
    assert_weights(mixture, expected)


@pytest.mark.parametrize('delay', [1, 4, 300])
def test_rates_go_by_the_delay(delay):
    mixture, pending = Mixture(), []
    for number, (p, y) in enumerate(noise(delay + 20)):
        pending.append(mixture.issue(p)[1])
        if number >= delay:
            ticket = pending[number - delay]
            before = mixture.state()['weights']
            mixture.update(p, y, ticket)
            assert mixture.delay == delay
            expected = weighed(before, ticket.forecasts, ticket.members, y, delay, mixture.updates)
            assert_weights(mixture, expected)


class Recomputing(Mixture):
    """Weighs the experts by what they forecast once they have learned all labels before."""

    def update(self, p, y, ticket=None):
        now = self._forecast(p)[1]
        ticket = ticket._replace(forecasts=now.forecasts, members=now.members)
        super().update(p, y, ticket)


def with_experts(mixture, samples, delay):
    """Return the log-loss of a mixture and its experts, and each expert's mean weight."""
    pending, output, experts, weights = deque(), [], [], []
    for p, y in samples:
        q, ticket = mixture.issue(p)
        output.append(q)
        experts.append(ticket.forecasts)
        weights.append(list(mixture.weights.values()))
        pending.append((p, y, ticket))
        if len(pending) > delay:
            mixture.update(*pending.popleft())
    labels = [y for _, y in samples]
    losses = [log_loss(q.tolist(), labels) for q in np.array(experts).T]
    return (
        log_loss(output, labels),
        dict(zip(mixture.weights, losses)),
        dict(zip(mixture.weights, np.mean(weights, axis=0))),
    )


def test_scored_on_recomputed_forecasts_it_would_pick_the_wrong_expert(elec2):
    """An expert that forgets fast looks, asked again with the label, as good as with no delay."""
    samples = elec2
    loss, losses, weights = with_experts(Mixture(), samples, 50)
    other_loss, other_losses, other_weights = with_experts(Recomputing(), samples, 50)
    assert losses == other_losses
    assert [round(x, 4) for x in (loss, other_loss)] == [0.4648, 0.5049]

    best, picked = min(losses, key=losses.get), max(weights, key=weights.get)
    wrong = max(other_weights, key=other_weights.get)
    assert picked == best == 'windowed temperature'
    assert wrong == 'ops, forgetting 0.99'
    assert losses[wrong] > losses[best] + 0.1
    assert other_weights[wrong] > 0.5
    assert weights[wrong] < 0.05
    assert loss < losses[best]


def test_late_labels_turn_the_order_of_methods_on_elec2(elec2):
    samples = elec2
    labels = [y for _, y in samples]

    def step_size_1(delay):
        parameters, pending, output = (1.0, 0.0), deque(), []
        for p, y in samples:
            clipped = min(max(p, 0.01), 0.99)
            logit = log(clipped / (1.0 - clipped))
            output.append(logistic(parameters, logit))
            pending.append((logit, y))
            if len(pending) > delay:
                parameters = sgd_step(parameters, *pending.popleft(), 1.0)
        return output

    def ops(delay, **parameters):
        return forecasts(create('ops', **parameters), samples, delay)

    def losses(made):
        return [round(log_loss(made(delay), labels), 4) for delay in (0, 50)]

    assert losses(step_size_1) == [0.4337, 1.0408]
    assert losses(lambda delay: ops(delay, forgetting=0.95, rho=10.0)) == [0.3401, 0.7531]
    assert losses(ops) == [0.4362, 0.4820]


def test_weights_on_recomputed_forecasts_pick_what_forgets_fastest(elec2):
    """The same with three maps alone, the fastest of which is the worst by far when issued."""
    samples = elec2
    maps = [create('ops'), create('ops', forgetting=0.999)]
    maps.append(create('ops', forgetting=0.95, rho=10.0))
    issued, recomputed = Weights(3), Weights(3)
    pending, losses, favourites = deque(), np.zeros(2), []
    for p, y in samples:
        issued_now = np.array([calibrator.issue(p)[0] for calibrator in maps])
        issued_now = np.clip(issued_now, 0.001, 0.999)
        for k, weights in enumerate((issued, recomputed)):
            q = weights.mix(issued_now)[0]
            losses[k] -= log(q if y else 1.0 - q) / len(samples)
        favourites.append([issued.experts[2], recomputed.experts[2]])
        pending.append((p, y, issued_now, issued.mix(issued_now)[1]))
        if len(pending) > 50:
            p, y, then, members = pending.popleft()
            t = len(favourites) - 50
            issued.learn(then, members, y, 50.0, t)
            now = np.clip([calibrator.issue(p)[0] for calibrator in maps], 0.001, 0.999)
            recomputed.learn(now, recomputed.mix(now)[1], y, 50.0, t)
            for calibrator in maps:
                calibrator.update(p, y)
    ours, theirs = np.mean(favourites, axis=0)
    assert ours < 0.1 < 0.7 < theirs
    assert losses[1] > losses[0] + 0.1


def test_running_median_is_that_of_the_last_100():
    generator = random.Random(4)
    delays, given = Delays(), []
    assert delays.median == 0.0
    for number in range(500):
        delay = generator.choice([0, 3, 3, generator.randrange(1 + number)])
        given.append(delay)
        assert delays.add(delay) == delays.median == np.median(given[-100:])
        assert delays.values == given[-100:]
    assert Delays(delays.values).add(5) == np.median([*given[-99:], 5])


def test_delay_is_counted_from_issues_though_labels_are_missing():
    mixture, pending = Mixture(), deque()
    assert mixture.delay == 0.0
    for number, (p, y) in enumerate(noise(120)):
        pending.append((p, y, mixture.issue(p)[1]))
        if len(pending) > 20:
            sample = pending.popleft()
            if number % 3 == 0:
                mixture.update(*sample)
                assert mixture.delay == 20.0


def test_labels_in_any_order_are_as_late_as_they_are():
    mixture = Mixture()
    tickets = [mixture.issue(0.6)[1] for _ in range(5)]
    found = []
    for number in (4, 0, 2):
        mixture.update(0.6, 1, tickets[number])
        found.append(mixture.delay)
    assert found == [0.0, 2.0, 2.0]
    assert mixture.state()['delays'] == [0, 4, 2]


def test_looking_is_not_issuing():
    mixture = Mixture()
    ticket = mixture.issue(0.6)[1]
    for _ in range(7):
        mixture.predict(0.3)
    mixture.update(0.6, 1, ticket)
    assert mixture.delay == 0.0


def test_an_update_without_a_ticket_is_a_prediction_too():
    mixture = Mixture()
    ticket = mixture.issue(0.6)[1]
    mixture.update(0.3, 0)
    mixture.update(0.3, 0)
    mixture.update(0.6, 1, ticket)
    assert mixture.state()['delays'] == [0, 0, 2]


def test_a_prediction_from_before_a_reset_is_as_late_as_it_is():
    mixture = Mixture()
    ticket = mixture.issue(0.6)[1]
    mixture.issue(0.7)
    mixture.reset()
    assert mixture.delay == 0.0
    mixture.issue(0.8)
    mixture.update(0.6, 1, ticket)
    assert mixture.delay == 2.0


def test_the_delay_is_restored():
    mixture = Mixture()
    forecasts(mixture, noise(150), 30)
    other = Mixture()
    other.restore(mixture.state())
    assert other.delay == mixture.delay == 30.0
    for p, y in noise(49, 1):
        other.update(p, y)
    assert other.delay == 30.0
    other.update(0.5, 1)
    assert other.delay == 15.0
