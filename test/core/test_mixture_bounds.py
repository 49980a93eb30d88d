# SPDX-License-Identifier: Apache-2.0
"""What is proved of the mixture, on sequences that are random and on such as work against it.

All bounds are on log-losses in nats, against experts as clipped, and hold after every label.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from calib_node.core.calibrators.mixture.experts import CLIP
from calib_node.core.calibrators.mixture.weights import FIXED_SHARE, Weights

COUNT = 200
ROUNDING = 1e-8
NO_SHARE, SHRINKING, FIXED = slice(0, 3), slice(3, 6), slice(6, 9)
"""The members by their share; within each the rates are 1, 1/sqrt(1 + D) and 1/(1 + D)."""


def of(q, y):
    """Return the log-loss of forecasts, whatever their shape."""
    return -np.log(q if y else 1.0 - np.asarray(q))


def independent(t, experts, generator):
    return generator.uniform(CLIP, 1.0 - CLIP, experts)


def extreme(t, experts, generator):
    return generator.choice([CLIP, 0.5, 1.0 - CLIP], experts)


def opposed(t, experts, generator):
    """Half of the experts forecast .999 for ever, the others .001."""
    return np.where(np.arange(experts) % 2, CLIP, 1.0 - CLIP)


def in_turn(t, experts, generator):
    """One expert knows what a coin would say, another every 40 samples."""
    forecasts = np.full(experts, 0.5)
    forecasts[t // 40 % experts] = 0.95
    return forecasts


def wrong_but_one(t, experts, generator):
    forecasts = np.full(experts, 1.0 - CLIP)
    forecasts[-1] = CLIP
    return forecasts


def close(t, experts, generator):
    return 0.5 + np.linspace(-0.05, 0.05, experts) * (-1.0) ** (t // 30)


FORECASTS = {f.__name__: f for f in (independent, extreme, opposed, in_turn, wrong_but_one, close)}
LABELS = {
    'a coin': lambda t, q, leader, generator: int(generator.random() < 0.5),
    'what is likely': lambda t, q, leader, generator: int(generator.random() < q),
    'against the mixture': lambda t, q, leader, generator: int(q < 0.5),
    'against the leader': lambda t, q, leader, generator: int(leader < 0.5),
    'alternating': lambda t, q, leader, generator: t % 2,
    'changing half way': lambda t, q, leader, generator: int(t > COUNT // 2),
    'never': lambda t, q, leader, generator: 0,
}


class Losses:
    """Log-losses of the mixture, its members and its experts, summed up from the first label on."""

    def __init__(self, rows):
        whole, members, experts = zip(*rows)
        self.each = np.array(experts)
        self.whole, self.members = np.cumsum(whole), np.cumsum(members, axis=0)
        self.experts = np.cumsum(experts, axis=0)
        self.best = self.experts.min(axis=1)


@cache
def played(forecast, label, experts, told=0):
    """Play forecasts against labels that come at once, `told` being the delay it is told of."""
    generator = np.random.default_rng(experts)
    weights, rows = Weights(experts), []
    for t in range(COUNT):
        forecasts = forecast(t, experts, generator)
        q, members = weights.mix(forecasts)
        y = label(t, q, forecasts[weights.experts.argmax()], generator)
        rows.append((of(q, y), of(members, y), of(forecasts, y)))
        weights.learn(forecasts, members, y, told, t + 1)
    return Losses(rows)


@pytest.fixture(params=FORECASTS)
def forecast(request):
    return FORECASTS[request.param]


@pytest.fixture(params=LABELS)
def label(request):
    return LABELS[request.param]


@pytest.mark.parametrize('experts', [2, 13])
def test_without_a_delay_it_is_within_ln_3k_of_the_best_expert(forecast, label, experts):
    losses = played(forecast, label, experts)
    best = losses.best[:, np.newaxis]
    bound = math.log(experts)
    numbers = np.arange(1.0, COUNT + 1.0)[:, np.newaxis]
    assert np.all(losses.members[:, NO_SHARE] <= best + bound + ROUNDING)
    # Of the share 1/(t + 1) the best expert keeps at least t/(t + 1), and the last one is not felt.
    assert np.all(losses.members[:, SHRINKING] <= best + bound + np.log(numbers) + ROUNDING)
    kept = -math.log(1.0 - FIXED_SHARE + FIXED_SHARE / experts)
    assert np.all(losses.members[:, FIXED] <= best + bound + (numbers - 1) * kept + ROUNDING)
    assert np.all(losses.whole <= losses.members.min(axis=1) + math.log(3.0) + ROUNDING)
    assert np.all(losses.whole <= losses.best + bound + math.log(3.0) + ROUNDING)


def best_with_switches(each, switches):
    """Return the least log-loss of a sequence of experts with at most 0, 1, ... switches."""
    costs = np.tile(each[0], (switches + 1, 1))
    for loss in each[1:]:
        switched = costs[:-1].min(axis=1, keepdims=True)
        costs[1:] = np.minimum(costs[1:], switched)
        costs += loss
    return costs.min(axis=1)


def cheapest_path(each, shares):
    """Return the least of losses and switches, each at its price, over sequences of experts."""
    experts = each.shape[1]
    costs = math.log(experts) + each[0]
    for loss, share in zip(each[1:], shares):
        stays = costs - math.log(1.0 - share + share / experts)
        costs = loss + np.minimum(stays, costs.min() - math.log(share / experts))
    return costs.min()


def test_best_with_switches_is_the_least_of_all_sequences():
    each = np.random.default_rng(0).exponential(size=(6, 3))
    found = [np.inf] * 6
    for code in range(3**6):
        path = [code // 3**i % 3 for i in range(6)]
        switches = sum(a != b for a, b in pairwise(path))
        loss = sum(each[i, k] for i, k in enumerate(path))
        found[switches:] = [min(least, loss) for least in found[switches:]]
    np.testing.assert_allclose(best_with_switches(each, 5), found)


@pytest.mark.parametrize('experts', [2, 5])
def test_fixed_share_follows_the_best_expert_through_switches(forecast, label, experts):
    """Herbster and Warmuth, Machine Learning 32, 1998."""
    losses, a = played(forecast, label, experts), FIXED_SHARE
    least = best_with_switches(losses.each, 12)
    for switches, loss in enumerate(least):
        price = math.log(experts) + switches * math.log(experts / a)
        price += (COUNT - 1 - switches) * -math.log(1.0 - a + a / experts)
        assert np.all(losses.members[-1, FIXED] <= loss + price + ROUNDING), switches
        assert losses.whole[-1] <= loss + price + math.log(3.0) + ROUNDING


@pytest.mark.parametrize('experts', [2, 13])
def test_each_share_pays_for_switches_what_the_share_is_then(forecast, label, experts):
    losses = played(forecast, label, experts)
    shrinking = [1.0 / (t + 1.0) for t in range(1, COUNT)]
    for members, shares in ((SHRINKING, shrinking), (FIXED, [FIXED_SHARE] * COUNT)):
        bound = cheapest_path(losses.each, shares)
        assert np.all(losses.members[-1, members] <= bound + ROUNDING)


@pytest.mark.parametrize('told', [1, 20])
def test_slower_rates_cost_ln_k_over_the_rate(forecast, label, told):
    """Told of a delay that there is not, it learns at the rates of one."""
    experts = 13
    losses = played(forecast, label, experts, told)
    rates = np.array([1.0, (1.0 + told) ** -0.5, 1.0 / (1.0 + told)])
    bound = losses.best[:, np.newaxis] + math.log(experts) / rates
    assert np.all(losses.members[:, NO_SHARE] <= bound + ROUNDING)
    prior = np.array([4.0, 2.0, 1.0] * 3) / 21.0
    bound = (losses.members - np.log(prior) / rates[2]).min(axis=1)
    assert np.all(losses.whole <= bound + ROUNDING)


def test_bounds_are_nearly_reached():
    """One expert in 13 knows, and it takes ln K to find out; a member with a share pays on."""
    losses = played(wrong_but_one, LABELS['never'], 13)
    excess = losses.members[-1] - losses.best[-1]
    assert np.all(excess[NO_SHARE] > math.log(13.0) - 0.1)
    assert losses.whole[-1] - losses.best[-1] > math.log(39.0) - 0.2


def test_no_expert_is_lost_for_ever():
    weights = Weights(13)
    bad, good = np.full(13, 1.0 - CLIP), np.full(13, CLIP)
    bad[4], good[4] = CLIP, 1.0 - CLIP
    for t in range(10_000):
        weights.learn(bad, weights.mix(bad)[1], 1, 0, t + 1)
    state = weights.state()
    assert np.array(state['experts']).min() > 0.0
    assert min(state['members']) > 0.0
    # Each outcome makes good a factor of 999 of the 1e300 that a weight may fall.
    for t in range(110):
        weights.learn(good, weights.mix(good)[1], 1, 0, 10_000 + t)
    rows = np.array(weights.state()['experts'])
    assert np.all(rows[:, 4] > 0.9)
    assert weights.experts[4] > 0.9


@pytest.mark.slow
def test_weights_sum_to_1_after_long():
    generator = np.random.default_rng(0)
    weights = Weights(13)
    for t in range(20_000):
        forecasts = extreme(t, 13, generator)
        delay = t // 100 % 3 * 7.5
        weights.learn(forecasts, weights.mix(forecasts)[1], t // 50 % 2, delay, t + 1)
    state = weights.state()
    for row in (*state['experts'], state['members']):
        assert math.fsum(row) == pytest.approx(1.0, abs=1e-14)


def waves(delay, count=4000):
    """Labels in blocks so long that what is known of the last one is out of date in the next."""
    block = 5 * (delay + 1) // 2
    return [(t + block // 2) // block % 2 for t in range(count)]


def excess_on_waves(instances, delay, count=4000):
    """Return losses above the best expert's: of the whole, and the members without a share."""
    forecasts = np.array([0.8, 0.2])
    each = [Weights(2) for _ in range(instances)]
    issued, rows = [], []
    for t, y in enumerate(waves(delay, count)):
        q, members = each[t % instances].mix(forecasts)
        rows.append((of(q, y), of(members, y), of(forecasts, y)))
        issued.append((forecasts, members, y))
        done = t - delay
        if done >= 0:
            told = 0 if instances > 1 else delay
            each[done % instances].learn(*issued[done], told, done // instances + 1)
    losses = Losses(rows)
    return (
        losses.whole[-1] - losses.best[-1],
        losses.members[-1, NO_SHARE] - losses.best[-1],
    )


@pytest.mark.parametrize('delay', [5, 20, 50])
def test_interleaved_instances_keep_the_bound_at_any_delay(delay):
    """The bound that is proved for late labels is that of another mixture, D + 1 of them in turn.

    Weinberger and Ordentlich, IEEE Transactions on Information Theory 48, 2002.
    """
    whole, no_share = excess_on_waves(delay + 1, delay)
    assert np.all(no_share <= (delay + 1) * math.log(2.0) + ROUNDING)
    assert whole <= (delay + 1) * math.log(6.0) + ROUNDING


def test_one_instance_has_no_such_bound_with_late_labels():
    """Each label of these comes when the next is the other: it loses in proportion to their number.

    So none is claimed.
    """
    delay = 5
    bound = (delay + 1) * math.log(6.0)
    short, _ = excess_on_waves(1, delay)
    long, _ = excess_on_waves(1, delay, 8000)
    assert short > 10 * bound
    assert long > 1.8 * short
