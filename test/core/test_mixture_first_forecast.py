# SPDX-License-Identifier: Apache-2.0
"""What is proved of the mixture as it is used: its first forecast is the clipped p, not its own.

Summed log-losses in nats, from the first forecast on, labels at once, experts as clipped.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from calib_node.core.calibrators import Mixture
from calib_node.core.calibrators.mixture.experts import CLIP, NAMES

MIXING = math.log(3 * len(NAMES))
FIRST = 1.7
"""By so much the clipped p may be worse than what the mixture would have said itself."""
ROUNDING = 1e-8


def loss(q, y):
    """Return the log-loss of forecasts, whatever their shape."""
    return -np.log(q if y else 1.0 - np.asarray(q))


def own_forecast(mixture, p):
    """Return what goes out, and what the mixture itself makes of the same experts."""
    q, ticket = mixture.issue(p)
    return q, mixture._mixed.mix(ticket.forecasts)[0], ticket


def test_first_forecast_costs_no_more_than_it_is_said_to():
    mixture, worst = Mixture(), 0.0
    for p in [*np.linspace(0.0, 1.0, 2001).tolist(), 1e-9, 1.0 - 1e-9, math.nextafter(0.99, 1.0)]:
        q, own, _ = own_forecast(mixture, p)
        assert q == pytest.approx(min(max(p, 0.01), 0.99), abs=1e-15)
        worst = max(worst, *(loss(q, y) - loss(own, y) for y in (0, 1)))
    assert FIRST - 0.01 < worst <= FIRST


def test_every_forecast_after_the_first_label_is_its_own():
    mixture, generator = Mixture(), random.Random(0)
    for _ in range(5):
        q, own, _ = own_forecast(mixture, generator.random())
        assert q != own
    for _ in range(50):
        p = generator.random()
        mixture.update(p, int(generator.random() < p))
        q, own, _ = own_forecast(mixture, generator.random())
        assert q == own


OPPONENTS = {
    'a coin': lambda t, q, g: (g.random(), g.randint(0, 1)),
    'calibrated': lambda t, q, g: (lambda p: (p, int(g.random() < p)))(g.random()),
    'always wrong and certain': lambda t, q, g: (float(t % 2), 1 - t % 2),
    'certain, right and wrong in turn': lambda t, q, g: (1.0, t % 2),
    'alternating': lambda t, q, g: (0.7, t % 2),
    'reversed half way': lambda t, q, g: ((0.05, 0.95)[(t % 2) ^ (t > 200)], t % 2),
    'against the mixture': lambda t, q, g: (round(g.random(), 1), None),
    'against the mixture, p fixed': lambda t, q, g: (0.99, None),
    'against p': lambda t, q, g: (lambda p: (p, int(p < 0.5)))(g.random()),
    'in runs': lambda t, q, g: (0.6, t // 25 % 2),
}


@pytest.mark.parametrize('opponent', OPPONENTS)
def test_it_is_within_the_price_of_mixing_and_of_the_first_forecast(opponent):
    mixture, generator = Mixture(), random.Random(1)
    whole, own_of_first, members, experts, raw = [], 0.0, [], [], []
    for t in range(400):
        p, y = OPPONENTS[opponent](t, None, generator)
        q, own, ticket = own_forecast(mixture, p)
        if y is None:
            y = int(q < 0.5)
        if not t:
            own_of_first = float(loss(own, y) - loss(q, y))
        whole.append(loss(q, y))
        members.append(loss(ticket.members, y))
        experts.append(loss(ticket.forecasts, y))
        chance = p if y else 1.0 - p
        raw.append(-math.log(chance) if chance else math.inf)
        mixture.update(p, y, ticket)
    whole, best = np.cumsum(whole), np.cumsum(experts, axis=0).min(axis=1)
    assert np.all(whole <= best + MIXING + FIRST + ROUNDING)
    # With the mixture's own first forecast the price of the mixing alone.
    assert np.all(whole + own_of_first <= best + MIXING + ROUNDING)
    without_a_share = np.cumsum(members, axis=0)[:, :3].max(axis=1)
    assert np.all(without_a_share <= best + math.log(len(NAMES)) + ROUNDING)
    # Clipping costs the raw probability no more than this where it is right and certain.
    clipping = -math.log(1.0 - CLIP) * np.arange(1, 401)
    assert np.all(whole <= np.cumsum(raw) + MIXING + FIRST + clipping + ROUNDING)


def test_the_price_of_the_first_forecast_is_paid():
    """A first p of .99 that is wrong: the base rate said one half, and the mixture listened."""
    mixture = Mixture()
    q, own, ticket = own_forecast(mixture, 0.99)
    mixture.update(0.99, 0, ticket)
    assert loss(q, 0) == pytest.approx(math.log(100.0))
    assert loss(own, 0) < loss(q, 0) - FIRST + 0.01
