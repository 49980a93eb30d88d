# SPDX-License-Identifier: Apache-2.0
"""What the step-size ensemble promises for any input; test_ensemble_reference.py has the values."""

from __future__ import annotations

import math
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import create
from calib_node.core.calibrators.divergence import HalvesDivergence
from calib_node.core.calibrators.sgd import logistic, sgd_step

always = {'auto': False, 'warmup': 1}


def learned(stream=((0.8, 0), (0.3, 1), (0.9, 0)), **parameters):
    """Return an ensemble that has learned a stream."""
    calibrator = create('ensemble', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
    return calibrator


def noise(count, seed=0):
    generator = random.Random(seed)
    return [(generator.random(), generator.randint(0, 1)) for _ in range(count)]


def test_first_step_of_each_map():
    """From (0, 0) every map forecasts 0.5, so a step is eta times half of (logit, 1)."""
    calibrator = learned([(0.8, 1)])
    logit = math.log(4.0)
    for (a, b), eta in zip(calibrator.maps, (0.01, 0.1, 1.0)):
        assert (a, b) == pytest.approx((eta * 0.5 * logit, eta * 0.5), rel=1e-15)
    assert calibrator.weights == pytest.approx((1 / 3, 1 / 3, 1 / 3), rel=1e-15)


def test_map_that_errs_least_weighs_most():
    calibrator = learned([(0.7, 0)] * 50)
    slow, middle, fast = calibrator.weights
    assert slow < middle < fast
    assert math.fsum(calibrator.weights) == pytest.approx(1.0, abs=1e-15)


def test_errors_older_than_100_labels_are_forgotten():
    """What went before would weigh a map that is right by now."""
    calibrator = learned([(0.5, 0), (0.5, 1)] * 50 + [(0.9, 1)] * 100)
    kept = calibrator.state()['squared_errors']
    assert len(kept) == 100
    for column, weight in zip(zip(*kept), calibrator.weights):
        pull = [1.0 / (math.fsum(values) / 100) for values in zip(*kept)]
        assert weight == pytest.approx(100 / math.fsum(column) / math.fsum(pull), rel=1e-12)


@pytest.mark.parametrize('auto', [True, False])
def test_clipped_probability_goes_out_until_the_warm_up_ends(auto):
    calibrator = create('ensemble', auto=auto, warmup=20)
    for i in range(20):
        assert calibrator.calibrates is None, i
        assert calibrator.predict(0.999) == 0.99
        calibrator.update(0.999, 0)
    assert calibrator.calibrates is True
    assert calibrator.predict(0.999) < 0.5


@pytest.mark.parametrize(('wrong', 'worthwhile'), [(5, False), (6, True)])
def test_worthwhile_above_an_ece_of_5_percent(wrong, worthwhile):
    stream = [(1.0, 0)] * wrong + [(1.0, 1)] * (50 - wrong) + [(0.0, 0)] * 50
    assert learned(stream, warmup=100).calibrates is worthwhile


def test_bins_of_the_warm_up_are_those_of_the_raw_probability():
    """Clipped at 0.3 these would be far off; as they are they are right."""
    calibrator = learned([(0.0, 0), (1.0, 1)] * 10, warmup=20, clip=0.3)
    assert calibrator.calibrates is False
    assert calibrator.predict(1.0) == 0.7


def test_without_auto_it_calibrates_whatever_it_finds():
    stream = [(0.0, 0), (1.0, 1)] * 10
    calibrator = learned(stream, warmup=20, auto=False)
    assert calibrator.calibrates is False
    assert calibrator.predict(1.0) != 0.99
    calibrator.configure(auto=True)
    assert calibrator.predict(1.0) == 0.99


def test_spring_stretches_steps_after_a_shift_and_only_then():
    calm = [(0.5 + 0.01 * (i % 10), i % 2) for i in range(60)]
    shifted = calm[:30] + [(p - 0.4, y) for p, y in calm[30:]]
    for stream, stretched in ((calm, False), (shifted, True)):
        with_spring, without = learned(stream[:59]), learned(stream[:59])
        without.configure(spring=False)
        assert with_spring.maps == without.maps
        steps = []
        for calibrator in (with_spring, without):
            before = calibrator.maps[1][1]
            calibrator.update(*stream[59])
            steps.append(calibrator.maps[1][1] - before)
        assert steps[0] / steps[1] == pytest.approx(2.5 if stretched else 1.0, abs=0.6)


@given(st.lists(st.floats(0.0, 1.0), min_size=60, max_size=60), st.floats(0.0, 1.0))
def test_divergence_is_between_0_and_1(values, p):
    assert -1e-15 <= HalvesDivergence(values).push(p) <= 1.0


def test_late_label_judges_the_forecast_that_went_out():
    """The maps know better by the time the label comes, and get no credit for it."""
    calibrator = create('ensemble')
    _, ticket = calibrator.issue(0.9)
    for _ in range(50):
        calibrator.update(0.9, 0)
    calibrator.update(0.9, 0, ticket)
    assert calibrator.state()['squared_errors'][-1] == [0.25] * 3


def test_late_label_teaches_the_maps_as_they_are_now():
    late, prompt = learned(noise(40), spring=False), learned(noise(40), spring=False)
    _, ticket = late.issue(0.9)
    for calibrator in (late, prompt):
        calibrator.update(0.2, 1)
    late.update(0.9, 0, ticket)
    prompt.update(0.9, 0)
    assert late.maps == prompt.maps
    assert late.state()['squared_errors'] != prompt.state()['squared_errors']


def test_ticket_holds_the_features_that_were_issued():
    calibrator = create('ensemble', clip=0.1)
    _, ticket = calibrator.issue(0.99)
    calibrator.configure(clip=0.3)
    calibrator.update(0.99, 1, ticket)
    assert calibrator.state()['recent'] == [0.9]
    assert calibrator.maps[2] == pytest.approx((0.5 * math.log(9.0), 0.5), rel=1e-14)


def test_size_does_not_grow():
    sizes = [len(pickle.dumps(learned(noise(count)))) for count in (500, 5_000)]
    assert sizes[1] == pytest.approx(sizes[0], abs=20)


def test_configured_switches_act_at_once():
    calibrator = learned(noise(100), **always)
    whole = calibrator.predict(0.7)
    calibrator.configure(averaging=False)
    alone = calibrator.predict(0.7)
    assert alone == logistic(calibrator.maps[1], math.log(0.7 / 0.3))
    calibrator.configure(averaging=True)
    assert calibrator.predict(0.7) == whole != alone


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-21, 21), st.integers(0, 1))
def test_step_lowers_the_loss_and_never_overflows(a, b, logit, y):
    after = sgd_step((a, b), logit, y, 0.01)
    before, now = logistic((a, b), logit), logistic(after, logit)
    assert 0.0 <= now <= 1.0
    assert now >= before if y else now <= before


def test_own_switches_and_clip_win():
    own = {'averaging': False, 'spring': False, 'auto': False, 'clip': 0.2, 'warmup': 500}
    calibrator = create('ensemble', **own)
    calibrator.restore(learned(noise(130)).state())
    assert calibrator.parameters() == own
    assert calibrator.weights == (0.0, 1.0, 0.0)
    assert calibrator.predict(0.9) == 0.8


def test_own_shorter_warm_up_ends_on_restoring():
    state = learned(noise(130), warmup=500).state()
    assert state['calibrates'] is None
    calibrator = create('ensemble', warmup=100)
    calibrator.restore(state)
    assert calibrator.calibrates is True
    assert calibrator.predict(0.95) != 0.95


def test_own_longer_warm_up_goes_on_and_what_was_found_stays():
    state = learned(noise(130), warmup=100).state()
    assert state['calibrates'] is True
    calibrator = create('ensemble', warmup=200)
    calibrator.restore(state)
    assert calibrator.predict(0.95) == 0.95
    for p, y in noise(70):
        calibrator.update(p, y)
    assert calibrator.calibrates is True
    assert calibrator.state()['warmup_bins'] == state['warmup_bins']
    create('ensemble', warmup=200).restore(calibrator.state())


def test_mean_of_ones_is_not_rounded_above_1():
    generator = random.Random(0)
    sums = set()
    for _ in range(100):
        state = learned(noise(1), warmup=1).state()
        state['maps'] = [[0.0, 100.0]] * 3
        state['squared_errors'] = [[generator.random() for _ in range(3)]]
        calibrator = create('ensemble', warmup=1, auto=False)
        calibrator.restore(state)
        sums.add(sum(calibrator.weights) > 1.0)
        assert calibrator.predict(0.5) <= 1.0
    assert True in sums
