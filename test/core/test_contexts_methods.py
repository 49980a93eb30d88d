# SPDX-License-Identifier: Apache-2.0
"""All methods in contexts: told apart, many at once, late, beyond the capacity."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import yaml
from contexts_oracle import learned, stream
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import (
    CALIBRATORS,
    create,
)
from calib_node.core.metrics import ece, log_loss


@pytest.mark.parametrize('method', CALIBRATORS)
def test_contexts_that_differ_are_told_apart(method):
    generator = np.random.default_rng(1)
    samples = [
        (0.3 + 0.4 * float(generator.random()), int(generator.random() < rate), (name,))
        for name, rate in [('car', 0.85), ('tree', 0.15)] * 700
    ]
    plain, calibrator = create(method), create(method, contexts=('class',))
    losses = {}
    for key, known in (('one map', plain), ('contexts', calibrator)):
        forecasts = []
        for p, y, context in samples:
            q, ticket = known.issue(p, context) if known.contextual else known.issue(p)
            forecasts.append(q)
            known.update(p, y, ticket)
        losses[key] = log_loss(forecasts[700:], [y for _, y, _ in samples[700:]])
    if method in ('identity', 'windowed_temperature'):
        # The one learns nothing, and no temperature moves a forecast across one half.
        assert losses['contexts'] == pytest.approx(losses['one map'], abs=1e-3)
    else:
        assert losses['contexts'] < losses['one map'] - 0.1


@pytest.mark.parametrize('method', CALIBRATORS)
def test_issue_many_is_issue_one_by_one(method):
    samples = stream(150, (4,))
    one = learned(samples, method)
    many = copy.deepcopy(one)
    fresh = [(p, ('new',) if i % 5 == 0 else c) for i, (p, _, c) in enumerate(stream(60, (4,), 2))]
    q, tickets = many.issue_many([p for p, _ in fresh], [context for _, context in fresh])
    pairs = [one.issue(p, context) for p, context in fresh]
    assert q == pytest.approx([pair[0] for pair in pairs], abs=1e-12)
    for (p, _), (_, single), ticket in zip(fresh, pairs, tickets):
        one.update(p, 1, single)
        many.update(p, 1, ticket)
    ahead = [known.predict(0.7, ('a',)) for known in (one, many)]
    assert ahead[0] == pytest.approx(ahead[1], abs=1e-9)
    q, tickets = many.issue_many([])
    assert (q.shape, tickets) == ((0,), [])


def test_issue_many_refuses_what_issue_refuses():
    calibrator = create('ops', contexts=('class',))
    with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\], not nan'):
        calibrator.issue_many([0.5, math.nan], [('a',), ('b',)])
    with pytest.raises(ValueError, match='2 probabilities need as many contexts, not 1'):
        calibrator.issue_many([0.5, 0.5], [('a',)])


@pytest.mark.parametrize('method', ['ops', 'beta', 'temperature', 'tops', 'isotonic', 'mixture'])
def test_late_labels_in_any_order_are_learned_in_the_context_of_their_forecast(method):
    samples = stream(120, (3,))
    calibrator = create(method, contexts=('class',))
    waiting = [(p, y, calibrator.issue(p, c)[1], c) for p, y, c in samples]
    for p, y, ticket, _ in reversed(waiting):
        calibrator.update(p, y, ticket)
    figures = calibrator.context_figures()
    assert {name: f.count for name, f in figures.items()} == {
        name: sum(c == (name,) for *_, c in samples) for name in 'abc'
    }
    # No forecast had learned anything.
    for name, found in figures.items():
        of = [(q, y) for (_, y, ticket, c) in waiting for q in [_forecast(ticket)] if c == (name,)]
        assert found.log_loss == pytest.approx(log_loss(*zip(*of)), abs=1e-12)
        assert found.ece == pytest.approx(ece(*zip(*of), bins=10), abs=1e-12)


def _forecast(ticket):
    return ticket.q if hasattr(ticket, 'q') else ticket[1]


def test_a_chain_weighs_by_what_was_issued_and_slowly_where_labels_are_late():
    samples = stream(300, (2,), seed=5)
    prompt = learned(samples, 'windowed_platt', refit_every=10)
    late, waiting = create('windowed_platt', contexts=('class',), refit_every=10), []
    for p, y, context in samples:
        waiting.append((p, y, late.issue(p, context)[1]))
        if len(waiting) > 50:
            late.update(*waiting.pop(0))
    shares = [max(abs(o.evidence) for o in known._owns) for known in (prompt, late)]
    assert shares[1] < 0.2 * shares[0]


# Names, capacity


@pytest.mark.parametrize('method', ['ops', 'tops'])
def test_beyond_the_capacity_all_share_one_bucket(method):
    calibrator = create(method, contexts=('class',), context_capacity=2)
    for name in ('a', 'b', 'c', 'd', 'a'):
        assert calibrator.overflowed == (name == 'd' or calibrator.updates == 4)
        calibrator.update(0.6, 1, calibrator.issue(0.6, (name,))[1])
    counts = {text: f.count for text, f in calibrator.context_figures().items()}
    assert counts == {'a': 2, 'b': 1, 'all others': 2}
    assert calibrator.figures()['contexts'] == 2
    assert calibrator.predict(0.6, ('e',)) == calibrator.predict(0.6, ('c',))
    assert calibrator.context_figures()['all others'].context == ()
    calibrator.configure(context_capacity=3)
    calibrator.update(0.6, 1, calibrator.issue(0.6, ('e',))[1])
    assert list(calibrator.context_figures()) == ['a', 'b', 'all others', 'e']


@given(
    st.lists(
        st.tuples(st.sampled_from('abcdefg'), st.none() | st.integers(-1, 2), st.booleans()),
        max_size=40,
    ),
    st.integers(1, 6),
    st.sampled_from(['ops', 'temperature', 'identity']),
)
def test_any_contexts_are_bounded_counted_and_saved(contexts, capacity, method):
    calibrator = create(method, contexts=('class', 'range'), context_capacity=capacity)
    for name, bucket, y in contexts:
        calibrator.update(0.7, int(y), calibrator.issue(0.7, (name, bucket))[1])
    figures = calibrator.context_figures()
    assert len(figures) <= capacity + 1
    assert sum(f.count for f in figures.values()) == len(contexts)
    different = len({context[:2] for context in contexts})
    assert calibrator.overflowed == (different > capacity)
    other = create(method, contexts=('class', 'range'), context_capacity=capacity)
    other.restore(yaml.safe_load(yaml.safe_dump(calibrator.state())))
    assert other.context_figures() == figures
    assert other.state() == calibrator.state()


def test_no_context_at_all_is_one_that_is_unknown():
    calibrator = create('ops', contexts=('class',))
    calibrator.update(0.6, 1)
    calibrator.update(0.6, 1, calibrator.issue(0.6, (None,))[1])
    assert [(t, f.count) for t, f in calibrator.context_figures().items()] == [('unknown', 2)]


@pytest.mark.parametrize('context', [('a', 1), 'a', ['a'], (1.5,), (True,), (('a',),), ([],), 3])
def test_what_is_no_context_is_refused_in_a_sentence(context):
    for calibrator in (create('ops', contexts=('class',)), create('tops', contexts=('class',))):
        before = calibrator.state()
        with pytest.raises(ValueError, match=r'a context must be a tuple of 1|a value of context'):
            calibrator.issue(0.5, context)
        assert calibrator.state() == before


@pytest.mark.parametrize('names', ['class', ('',), ('a', 'a'), (1,)])
def test_names_that_are_none_are_refused(names):
    with pytest.raises(ValueError, match='contexts must'):
        create('ops', contexts=names)
