# SPDX-License-Identifier: Apache-2.0
"""One probability per class through the node."""

from __future__ import annotations

import math
import signal
import struct
from itertools import count
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core.calibrators import create_multiclass
from calib_node.core.matching import StampMatcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import Label, Prediction

from .harness import SECOND, Client, World

NAN, INF = math.nan, math.inf


def core(method: str, classes: int, **parameters: float) -> Pipeline:
    """Return the core that a node with these parameters runs."""
    return Pipeline(create_multiclass(method, classes, **parameters), StampMatcher())


def samples(classes: int, number: int, seed: int) -> list[tuple[list[float], int]]:
    """Return overconfident probabilities and their labels."""
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(classes, 0.4), number)
    truth = [int(generator.choice(classes, p=0.5 * p + 0.5 / classes)) for p in rows]
    return list(zip(rows.tolist(), truth))


def stamped(stamp: int, values: Any = ()) -> list[float]:
    return [*divmod(stamp, SECOND), *values]


def bits(numbers: Any) -> list[bytes]:
    return [struct.pack('<d', number) for number in numbers]


def run_rounds(client: Client, pipeline: Pipeline, start: int, rounds: int) -> None:
    """Feed node and core alike, labels late and in another order; compare every output."""
    batch = 40
    matched = client.figure('matched')
    for number in range(rounds):
        client.calibrated.clear()
        fed = samples(pipeline.classes, batch, seed=start + number)
        stamps = [(start + number * batch + i) * SECOND // 20 for i in range(batch)]
        for stamp, (p, _) in zip(stamps, fed):
            client.send_raw(stamped(stamp, p))
        client.spin_until(lambda: len(client.calibrated) == batch, 'every output')
        for message, stamp, (p, _) in zip(client.calibrated, stamps, fed):
            answer = pipeline.predict(Prediction(stamp, np.array(p)))
            assert bits(message.data) == bits(stamped(stamp, answer))
        order = np.random.default_rng(number).permutation(batch)
        for i in order.tolist():
            client.label(stamps[i], fed[i][1])
            pipeline.label(Label(stamps[i], float(fed[i][1])))
        matched += batch
        client.wait_for_figure('matched', matched)


@pytest.mark.parametrize(('method', 'classes'), [('ops', 3), ('temperature', 10), ('tops', 4)])
def test_outputs_and_state_are_the_cores_over_a_restart(world: World, method, classes):
    parameters = {'method': method, 'classes': classes}
    pipeline = core(method, classes)
    node, client = world.connected(parameters)
    run_rounds(client, pipeline, 1_000_000, rounds=3)
    node.stop(signal.SIGTERM)
    saved = world.state()
    state = pipeline.calibrator.state()
    assert (saved['method'], saved['classes'], saved['updates']) == (method, classes, 120)
    assert {key: saved[key] for key in state} == state

    second = world.start(parameters)
    second.wait_for('going on from 120 updates')
    client.connect()
    run_rounds(client, pipeline, 2_000_000, rounds=2)
    second.stop(signal.SIGINT)
    assert world.state()['updates'] == pipeline.calibrator.updates == 200


def test_a_thousand_classes_pass(world: World):
    pipeline = core('ops', 1000)
    _, client = world.connected({'classes': 1000})
    run_rounds(client, pipeline, 1_000_000, rounds=2)
    assert client.figures()['classes'] == '1000'
    assert client.figure('updates') == 80


def test_the_calibrators_parameters_are_taken_and_change_live(world: World):
    pipeline = core('ops', 3, gamma=0.02)
    _, client = world.connected({'classes': 3, 'gamma': 0.02})
    # The default of clip depends on the number of classes.
    assert client.get('gamma', 'clip', 'classes') == [0.02, 0.01 / 3, 3]
    run_rounds(client, pipeline, 1_000_000, rounds=1)
    client.set('clip', 0.05)
    pipeline.calibrator.configure(clip=0.05)
    run_rounds(client, pipeline, 2_000_000, rounds=1)
    (result,) = client.set_each({'classes': 4})
    assert not result.successful


@pytest.fixture(scope='module')
def shared_node(shared: World):
    """Node of three classes and its client for the whole module, and stamps that go up."""
    node, client = shared.connected({'classes': 3})
    # With many bad labels among few nothing would be learned.
    run_rounds(client, core('ops', 3), 19_000, rounds=3)
    return node, client, count(1000 * SECOND, SECOND)


BAD_PREDICTIONS = {
    'two values': ([0.5, 0.5], 'wrong_length'),
    'four values': ([0.25] * 4, 'wrong_length'),
    'one value': ([0.9], 'wrong_length'),
    'NaN': ([NAN, 0.5, 0.5], 'not_finite'),
    'inf': ([0.5, 0.5, INF], 'not_finite'),
    'negative': ([0.5, 0.7, -0.2], 'out_of_range'),
    'above one': ([1.5, 0.0, 0.0], 'out_of_range'),
    'low sum': ([0.5, 0.4, 0.05], 'bad_sum'),
    'high sum': ([0.5, 0.5, 0.5], 'bad_sum'),
}


def answered(client: Client, stamp: int, p: list[float]) -> list[float]:
    """Publish a prediction and return what comes back for it."""
    heard = len(client.calibrated)
    client.send_raw(stamped(stamp, p))
    client.spin_until(lambda: len(client.calibrated) > heard, 'calibrated probabilities')
    assert list(client.calibrated[heard].data[:2]) == stamped(stamp)
    return list(client.calibrated[heard].data[2:])


def test_bad_predictions_are_counted_by_reason_and_leave_no_trace(shared_node):
    _, client, stamps = shared_node
    for name, (p, why) in BAD_PREDICTIONS.items():
        client.next_status()
        before = client.figures()
        heard = len(client.calibrated)
        stamp = next(stamps)
        client.send_raw(stamped(stamp, p))
        client.wait_for_figure(f'refused: {why}', int(before[f'refused: {why}']) + 1)
        assert int(client.figures()['refused']) == int(before['refused']) + 1, name
        client.label(stamp, 1)
        # The next good one is answered and learned: the node goes on.
        stamp = next(stamps)
        answered(client, stamp, [0.7, 0.2, 0.1])
        client.label(stamp, 1)
        client.wait_for_figure('updates', int(before['updates']) + 1)
        assert len(client.calibrated) == heard + 1, name


def test_refusals_say_what_was_expected(shared_node):
    node, client, stamps = shared_node
    for why, p, words in [
        ('wrong_length', [0.5, 0.5], 'the number of values is wrong (2 instead of 3, one per'),
        ('bad_sum', [0.5, 0.4, 0.05], 'the probabilities of the classes do not sum to 1 (0.95'),
    ]:
        before = client.figure(f'refused: {why}')
        client.send_raw(stamped(next(stamps), p))
        client.wait_for_figure(f'refused: {why}', before + 1)
        node.wait_for('a prediction is refused', words)
    before = client.figure('refused: bad_label')
    client.label(next(stamps), 3)
    client.wait_for_figure('refused: bad_label', before + 1)
    node.wait_for('a label is refused', 'one of 3 classes, 0 to 2')


@pytest.mark.parametrize(
    ('value', 'why'), [(3, 'bad_label'), (-1, 'bad_label'), (0.5, 'bad_label'), (NAN, 'not_finite')]
)
def test_bad_labels_are_counted_by_reason_and_their_prediction_waits(shared_node, value, why):
    _, client, stamps = shared_node
    stamp = next(stamps)
    answered(client, stamp, [0.7, 0.2, 0.1])
    client.next_status()
    before = client.figures()
    client.label(stamp, value)
    client.wait_for_figure(f'refused: {why}', int(before[f'refused: {why}']) + 1)
    assert client.figures()['updates'] == before['updates']
    client.label(stamp, 2)
    client.wait_for_figure('updates', int(before['updates']) + 1)


def test_no_opinion_passes_unchanged_and_is_never_learned(shared_node):
    _, client, stamps = shared_node
    updates = client.figure('updates')
    stamp = next(stamps)
    assert answered(client, stamp, []) == []
    matched = client.figure('matched')
    client.label(stamp, 1)
    client.wait_for_figure('matched', matched + 1)
    assert client.figure('updates') == updates


def test_a_softmax_of_single_precision_is_taken_and_the_answer_sums_to_one(shared_node):
    _, client, stamps = shared_node
    p = np.array([0.1, 0.7, 0.2], np.float32).tolist()
    assert sum(p) != 1.0
    assert sum(answered(client, next(stamps), p)) == pytest.approx(1.0, abs=1e-12)


def test_on_invalid_pass_republishes_unchanged(shared_node):
    _, client, stamps = shared_node
    client.set('on_invalid', 'pass')
    for name, (p, _) in BAD_PREDICTIONS.items():
        stamp = next(stamps)
        assert bits(answered(client, stamp, p)) == bits(p), name
    client.set('on_invalid', 'drop')


def test_figures_say_what_they_are_of(shared_node):
    _, client, stamps = shared_node
    client.trigger('reset')
    client.set('ece.period', 0.02)
    pipeline = core('ops', 3)
    for number, (p, y) in enumerate(samples(3, 20, seed=1), 1):
        stamp = next(stamps)
        pipeline.predict(Prediction(stamp, np.array(p)))
        answered(client, stamp, p)
        pipeline.label(Label(stamp, float(y)))
        client.label(stamp, y)
        client.wait_for_figure('updates', number)
    client.wait_for_figure('samples in window', 20)
    figures = client.figures()
    assert len(figures) == len(client.status.values)
    assert figures['classes'] == '3'
    for prefix, scores in (('raw ', pipeline.scores.raw), ('', pipeline.scores.calibrated)):
        assert figures[f'{prefix}ECE (top class)'] == f'{scores.ece():.6f}'
        assert figures[f'{prefix}Brier score (sum over classes)'] == f'{scores.brier():.6f}'
        name = f'{prefix}log-loss (true class, clip 0.001)'
        assert figures[name] == f'{scores.log_loss():.6f}'
    client.wait_for_last(client.ece, pipeline.scores.calibrated.ece())
    client.wait_for_last(client.raw_ece, pipeline.scores.raw.ece())
    table = pipeline.scores.raw.table() + pipeline.scores.calibrated.table()
    expected = [float(number) for row in table for number in row]
    client.spin_until(lambda: bits(client.reliability[-1].data) == bits(expected), 'diagrams')


@pytest.mark.parametrize(('before', 'after'), [(3, 4), (3, 1), (1, 3)])
def test_what_another_number_of_classes_has_learned_waits_for_it(world: World, before, after):
    client = world.client()
    node = world.start({'classes': before})
    client.connect()
    answered(client, SECOND, [1.0 / before] * before)
    client.label(SECOND, 0)
    client.wait_for_figure('updates', 1)
    node.stop()
    for classes, updates in ((after, 0), (before, 1)):
        node = world.start({'classes': classes})
        assert node.said('[INFO]', 'has learned is kept as')
        assert not node.said('[ERROR]')
        client.connect()
        assert client.figure('updates') == updates
        client.wait_for_status(DiagnosticStatus.OK)
        node.stop()
    assert world.state().get('classes', 1) == before
