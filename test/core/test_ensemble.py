# SPDX-License-Identifier: Apache-2.0
"""What the step-size ensemble promises for any input; test_ensemble_reference.py has the values."""

from __future__ import annotations

import copy
import math
import pickle
import random

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import UpdateNotFinite, create
from calib_node.core.calibrators.divergence import HalvesDivergence
from calib_node.core.calibrators.sgd import logistic, sgd_step

EDGES = [0.0, 5e-324, 1e-300, 1e-9, 0.01, 0.5, 0.99, 1.0 - 1e-9, 1.0 - 2**-53, 1.0]
probabilities = st.floats(0.0, 1.0) | st.sampled_from(EDGES)
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=150)
parameter_sets = st.fixed_dictionaries(
    {
        'averaging': st.booleans(),
        'spring': st.booleans(),
        'auto': st.booleans(),
        'warmup': st.integers(1, 30),
        'clip': st.sampled_from([1e-9, 0.01, 0.3, 0.499]),
    }
)
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


@given(samples, parameter_sets)
def test_every_update_stays_sound(stream, parameters):
    calibrator = create('ensemble', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
        assert 0.0 <= calibrator.predict(p) <= 1.0
        assert all(math.isfinite(value) for row in calibrator.maps for value in row)
        assert math.fsum(calibrator.weights) == pytest.approx(1.0, abs=1e-12)
    assert calibrator.updates == len(stream)


@settings(max_examples=30)
@given(samples, samples, parameter_sets)
def test_saved_and_restored_it_goes_on_to_the_last_bit(before, after, parameters):
    calibrator = learned(before, **parameters)
    text = yaml.safe_dump(calibrator.state())
    other = create('ensemble', **parameters)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    for p, y in after:
        assert other.predict(p) == calibrator.predict(p)
        calibrator.update(p, y)
        other.update(p, y)
    assert other.state() == calibrator.state()


@given(samples, parameter_sets)
def test_pure_forecasts(stream, parameters):
    """Forecasts whose label never comes leave no trace."""
    calibrator = learned(stream, **parameters)
    before = copy.deepcopy(calibrator.state())
    for p in EDGES:
        assert calibrator.issue(p)[0] == calibrator.predict(p)
    assert calibrator.state() == before


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


def test_update_without_a_ticket_issues_one():
    with_ticket, without = create('ensemble'), create('ensemble')
    for p, y in noise(120):
        with_ticket.update(p, y, with_ticket.issue(p)[1])
        without.update(p, y)
    assert with_ticket.state() == without.state()


@pytest.mark.parametrize('clip', [0.01, 1e-9])
def test_a_model_that_is_always_sure_and_always_wrong(clip):
    calibrator = learned([(1.0, 0)] * 20_000, clip=clip)
    assert 0.0 < calibrator.predict(1.0) < 0.001


def test_labels_of_other_types_count_as_0_and_1():
    plain, other = create('ensemble'), create('ensemble')
    for p, y in noise(60):
        plain.update(p, y)
        other.update(p, bool(y) if p < 0.5 else float(y))
    assert yaml.safe_dump(other.state()) == yaml.safe_dump(plain.state())


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


def test_warm_up_cannot_change_while_it_runs():
    calibrator = learned()
    calibrator.configure(warmup=500, clip=0.02)
    with pytest.raises(ValueError, match='warmup of ensemble cannot change while it runs'):
        calibrator.configure(warmup=400, clip=0.03)
    assert calibrator.parameters()['clip'] == 0.02


@pytest.mark.parametrize(
    ('parameters', 'sentence'),
    [
        ({'warmup': 0}, 'warmup must be a whole number >= 1'),
        ({'warmup': 1.5}, 'warmup must be a whole number'),
        ({'clip': 0.5}, 'clip must be >= 1e-09 and < 0.5'),
        ({'spring': 1}, 'spring must be true or false, not 1'),
        ({'auto': 'yes'}, "auto must be true or false, not 'yes'"),
        ({'averaging': None}, 'averaging must be true or false, not None'),
        ({'gamma': 0.1}, "ensemble has no parameter 'gamma'"),
    ],
)
def test_wrong_parameter_is_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        create('ensemble', **parameters)


@pytest.mark.parametrize('p', [-1e-9, 1.0 + 1e-9, math.nan, math.inf])
def test_probability_outside_is_refused(p):
    calibrator = learned()
    before = calibrator.state()
    ticket = calibrator.issue(0.5)[1]
    for attempt in (calibrator.issue, lambda p: calibrator.update(p, 1, ticket)):
        with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
            attempt(p)
    assert calibrator.state() == before


@pytest.mark.parametrize('y', [2, -1, 0.5, math.nan, None, '1'])
def test_label_that_is_neither_0_nor_1_is_refused(y):
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(ValueError, match='a label must be 0 or 1'):
        calibrator.update(0.4, y)
    assert calibrator.state() == before


@pytest.mark.parametrize('place', range(5))
@pytest.mark.parametrize('value', [math.nan, math.inf, -1e308])
def test_ticket_that_would_not_give_a_finite_update_changes_nothing(place, value):
    calibrator = learned(noise(70))
    before = calibrator.state()
    ticket = list(calibrator.issue(0.4)[1])
    ticket[place] = value
    with pytest.raises(UpdateNotFinite):
        calibrator.update(0.4, 1, tuple(ticket))
    assert calibrator.state() == before


def test_reset_is_a_new_start():
    calibrator = learned(noise(120), clip=0.2, warmup=20)
    calibrator.reset()
    assert calibrator.state() == create('ensemble', clip=0.2, warmup=20).state()


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-21, 21), st.integers(0, 1))
def test_step_lowers_the_loss_and_never_overflows(a, b, logit, y):
    after = sgd_step((a, b), logit, y, 0.01)
    before, now = logistic((a, b), logit), logistic(after, logit)
    assert 0.0 <= now <= 1.0
    assert now >= before if y else now <= before
