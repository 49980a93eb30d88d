# SPDX-License-Identifier: Apache-2.0
"""The whole behaviour without ROS, with one probability and with one per class."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from pipelines import (
    MS,
    learn,
    make,
    observed,
    one_and_many,
    plain,
    predict,
    samples,
    sure,
    triples,
)
from whole_scores import assert_scores

from calib_node.core.calibrators import UpdateNotFinite
from calib_node.core.refusal import Refused
from calib_node.core.samples import Label, Match, Prediction

# Learning


def test_first_step():
    pipeline = make()
    matches = observed(pipeline)
    assert predict(pipeline, MS, 0.8) == 0.8
    assert pipeline.label(Label(MS, 0.0)) is None
    assert matches == [Match(MS, '', (), 0.8, 0.8, 0)]
    assert predict(pipeline, 2 * MS, 0.8) == pytest.approx(0.76075807, abs=5e-9)
    assert pipeline.counts.learned == 1


@pytest.mark.parametrize('method', ['ops', 'tops', 'temperature'])
@pytest.mark.parametrize('classes', [1, 2, 5])
def test_a_prompt_label_is_learned_as_the_calibrator_learns_it(method, classes):
    pipeline, calibrator = make(classes, method), make(classes, method).calibrator
    matches = observed(pipeline)
    for number, (p, y) in enumerate(samples(classes, 60), 1):
        expected, ticket = calibrator.issue(p)
        calibrator.update(p, y, ticket)
        assert plain(predict(pipeline, number * 100 * MS, p)) == plain(expected)
        pipeline.label(Label(number * 100 * MS, float(y)))
        assert plain(matches[-1].published) == plain(expected)
        assert triples(matches[-1:]) == [(number * 100 * MS, plain(p), y)]
    assert pipeline.calibrator.state() == calibrator.state()
    assert pipeline.counts.learned == calibrator.updates == len(matches) == 60
    assert pipeline.classes == classes


@one_and_many
def test_a_late_label_is_learned_with_the_ticket_of_its_forecast(classes):
    pipeline, calibrator = make(classes), make(classes).calibrator
    matches = observed(pipeline)
    waiting: list[Any] = []
    for number, (p, y) in enumerate(samples(classes, 60), 1):
        waiting.append((number * 100 * MS, p, y, *calibrator.issue(p)))
        predict(pipeline, number * 100 * MS, p)
        if number % 20:
            continue
        # A forecast of today would be made of other logits.
        for one in (pipeline.calibrator, calibrator):
            one.configure(clip=0.1 / number)
        for stamp, raw, label, published, ticket in reversed(waiting):
            calibrator.update(raw, label, ticket)
            pipeline.label(Label(stamp, float(label)))
            assert triples(matches[-1:]) == [(stamp, plain(raw), label)]
            assert plain(matches[-1].published) == plain(published)
        waiting.clear()
    assert pipeline.calibrator.state() == calibrator.state()


@one_and_many
def test_an_early_label_is_learned_when_its_prediction_has_been_answered(classes):
    early, prompt = make(classes), make(classes)
    early.label(Label(MS, 0.0))
    assert early.counts.learned == 0
    untaught = make(classes).calibrator.predict(sure(classes))
    assert plain(predict(early, MS, sure(classes))) == plain(untaught)
    learn(prompt, MS, sure(classes), 0)
    assert early.calibrator.state() == prompt.calibrator.state()
    assert early.scores.calibrated.count == 1


@one_and_many
def test_a_label_within_the_tolerance_is_decided_by_the_next_prediction(classes):
    pipeline = make(classes)
    predict(pipeline, 1000 * MS, sure(classes))
    pipeline.label(Label(1004 * MS, 1.0))
    assert pipeline.counts.learned == 0
    predict(pipeline, 1100 * MS, sure(classes))
    assert pipeline.counts.learned == 1


@one_and_many
def test_without_learning_matches_are_scored_and_never_learned_later(classes):
    pipeline, only_second = make(classes, learning=False), make(classes)
    learn(pipeline, 1000 * MS, sure(classes), 0)
    assert (pipeline.scores.raw.count, pipeline.calibrator.updates) == (1, 0)
    predict(pipeline, 1100 * MS, sure(classes))
    pipeline.learning = True
    pipeline.label(Label(1100 * MS, 0.0))
    pipeline.flush()
    learn(only_second, MS, sure(classes), 0)
    assert pipeline.calibrator.state() == only_second.calibrator.state()


@one_and_many
def test_an_update_that_fails_is_shown_until_the_next_that_does_not(classes, monkeypatch):
    pipeline = make(classes)
    matches, told = observed(pipeline), []
    pipeline.on_error = told.append
    before = pipeline.calibrator.state()

    def fail(*_: Any) -> None:
        raise UpdateNotFinite('the update gives a number that is not finite')

    with monkeypatch.context() as patch:
        patch.setattr(pipeline.calibrator, 'update', fail)
        learn(pipeline, 1000 * MS, sure(classes), 0)
    assert len(matches) == pipeline.scores.raw.count == 1
    assert pipeline.update_error == 'the update gives a number that is not finite'
    assert (pipeline.counts.failed_updates, pipeline.counts.learned) == (1, 0)
    assert pipeline.calibrator.state() == before
    learn(pipeline, 1100 * MS, sure(classes), 0)
    assert (pipeline.update_error, pipeline.counts.learned) == ('', 1)
    assert [sentence.split(': ')[1] for sentence in told] == [
        'the update gives a number that is not finite'
    ]


@one_and_many
def test_reset_forgets_what_was_learned_and_keeps_what_is_pending(classes):
    pipeline = make(classes)
    pipeline.scores.configure(bins=10, window=20)
    learn(pipeline, 1000 * MS, sure(classes), 0)
    predict(pipeline, 1100 * MS, sure(classes))
    pipeline.reset()
    assert (pipeline.scores.raw.bins, pipeline.scores.calibrated.window) == (10, 20)
    assert pipeline.calibrator.state() == make(classes).calibrator.state()
    assert pipeline.scores.raw.count == pipeline.scores.calibrated.count == 0
    pipeline.label(Label(1100 * MS, 1.0))
    assert (pipeline.counts.learned, pipeline.calibrator.updates) == (2, 1)


@pytest.mark.parametrize('classes', [1, 4])
def test_same_messages_in_the_same_order_give_the_same_state_to_the_last_bit(classes):
    def run() -> tuple[dict[str, Any], list[Any]]:
        generator = random.Random(11)
        pipeline = make(classes, forgetting=0.999)
        out, waiting = [], []
        for number, (p, y) in enumerate(samples(classes, 3000 if classes == 1 else 500), 1):
            stamp = number * 10 * MS + generator.randint(-MS, MS)
            out.append(plain(predict(pipeline, stamp, p)))
            waiting.append(Label(stamp + generator.randint(-MS, MS), float(y)))
            while waiting and generator.random() < 0.5:
                pipeline.label(waiting.pop(generator.randrange(len(waiting))))
        pipeline.flush()
        assert pipeline.counts.learned > len(out) // 2
        return pipeline.calibrator.state(), out

    assert run() == run()


# Scores


@pytest.mark.parametrize('classes', [1, 4])
def test_scores_before_and_after_calibration(classes):
    pipeline = make(classes)
    matches = observed(pipeline)
    for number, (p, y) in enumerate(samples(classes, 300), 1):
        learn(pipeline, number * 100 * MS, p, y)
    raw, calibrated, y = pipeline.scores.raw, pipeline.scores.calibrated, [m.label for m in matches]
    assert_scores(raw, [match.raw for match in matches], y, 1e-12)
    assert_scores(calibrated, [match.published for match in matches], y, 1e-12)
    assert raw.count == 300
    assert calibrated.ece() < raw.ece()
    assert calibrated.brier() < raw.brier()


@one_and_many
def test_scored_is_what_was_published(classes):
    pipeline = make(classes)
    matches = observed(pipeline)
    p = sure(classes)
    predict(pipeline, 1000 * MS, p)
    first = predict(pipeline, 1100 * MS, p)
    for stamp in (1000 * MS, 1100 * MS):
        pipeline.label(Label(stamp, 0.0))
    now = pipeline.calibrator.predict(p)
    assert now < first if classes == 1 else now[0] > first[0]
    assert [plain(match.published) for match in matches] == [plain(first)] * 2
    assert_scores(pipeline.scores.calibrated, [first, first], [0, 0], 1e-12)


# Observers


@one_and_many
def test_every_match_reaches_every_observer_in_the_order_of_learning(classes, monkeypatch):
    pipeline = make(classes)
    update, learned = pipeline.calibrator.update, []

    def recorded(p: Any, y: int, ticket: Any) -> None:
        update(p, y, ticket)
        learned.append((plain(p), y))

    monkeypatch.setattr(pipeline.calibrator, 'update', recorded)
    matches, again = observed(pipeline), observed(pipeline)
    when: list[int] = []
    pipeline.on_match.append(lambda _: when.append(len(learned)))
    p = [p for p, _ in samples(classes, 20)]

    def label(ms: int, y: int) -> None:
        pipeline.label(Label(ms * MS, float(y)))

    def forecast(ms: int) -> None:
        predict(pipeline, ms * MS, p[ms // 100 % 20])

    for ms, y in ((1000, 0), (1104, 1), (1204, 0), (1330, 1), (1504, 0)):
        label(ms, y)
    for step, completed in [
        (lambda: forecast(1000), [(1000, 0)]),
        (lambda: forecast(1100), []),
        (lambda: forecast(1300), [(1100, 1)]),
        # Out of order, it has its label at once.
        (lambda: forecast(1200), [(1200, 0)]),
        (lambda: forecast(1400), []),
        (
            lambda: pipeline.configure_matching('nearest', 40 * MS, 60_000 * MS, 1000 * MS, 100),
            [(1300, 1)],
        ),
        (lambda: forecast(1500), []),
        (lambda: forecast(1520), []),
        (lambda: label(1400, 1), [(1400, 1)]),
        (pipeline.flush, [(1500, 0)]),
        (lambda: [forecast(1600), label(1610, 1)], []),
        (lambda: predict(pipeline, 1700 * MS, None), [(1600, 1)]),
        (lambda: [forecast(1800), label(1810, 0)], []),
        (
            lambda: pipeline.refuse_prediction(Refused('layout', stamp=1900 * MS)),
            [(1800, 0)],
        ),
    ]:
        before = len(matches)
        step()
        assert triples(matches[before:]) == [
            (ms * MS, plain(p[ms // 100 % 20]), y) for ms, y in completed
        ]
    assert matches == again
    assert [(plain(match.raw), match.label) for match in matches] == learned
    assert when == list(range(1, 9))
    assert pipeline.scores.raw.count == pipeline.counts.learned == 8


@one_and_many
@pytest.mark.parametrize('overshoot', [0.0, 1e-7])
def test_a_match_tells_of_which_object_and_in_what_context_it_was(classes, overshoot):
    pipeline = make(classes)
    matches = observed(pipeline)
    p = 1.0 if classes == 1 else np.eye(classes)[0]
    pipeline.predict(Prediction(MS, p * (1.0 + overshoot), key='7', context=('car', 12.5)))
    pipeline.label(Label(MS, 1.0))
    assert triples(matches) == [(MS, plain(p), 1)]
    assert (matches[0].key, matches[0].context) == ('7', ('car', 12.5))


@one_and_many
def test_an_observer_that_fails_stops_neither_the_others_nor_learning(classes):
    pipeline, healthy = make(classes), make(classes)

    def fail(_: Match[Any]) -> None:
        raise OSError('no space left on device')

    pipeline.on_match.insert(0, fail)
    matches = observed(pipeline)
    told: list[str] = []
    pipeline.on_error = told.append
    for one in (pipeline, healthy):
        for number in (1, 2):
            learn(one, number * 100 * MS, sure(classes), 0)
    assert pipeline.calibrator.state() == healthy.calibrator.state()
    assert len(matches) == pipeline.scores.raw.count == pipeline.counts.learned == 2
    assert pipeline.observer_error.endswith('failed: OSError: no space left on device')
    assert told == [pipeline.observer_error] * 2
    assert (pipeline.update_error, pipeline.scores.error, healthy.observer_error) == ('', '', '')
    pipeline.reset()
    assert pipeline.observer_error == ''
