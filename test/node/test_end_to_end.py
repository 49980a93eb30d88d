# SPDX-License-Identifier: Apache-2.0
"""What the node publishes and saves is what the core gives, to the last bit."""

from __future__ import annotations

import random
import signal

import pytest

from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.samples import Label, Prediction

from .harness import EXECUTORS, SECOND, Client, World, pipeline

ROUNDS = 4
BATCH = 75


def sample(rng: random.Random) -> tuple[float, int]:
    """Return an overconfident probability and its label."""
    p = rng.random()
    return p, int(rng.random() < 0.3 + 0.4 * p)


def run_rounds(client: Client, core, rng: random.Random, start: int, rounds: int = ROUNDS) -> None:
    """Feed node and core alike, labels late and shuffled; compare every output.

    Labels of a topic come in order and all belong to predictions that were heard, so the core
    sees what the node sees.
    """
    matched = client.figure('matched')
    for number in range(rounds):
        client.calibrated.clear()
        samples = {start + (number * BATCH + i) * SECOND // 30: sample(rng) for i in range(BATCH)}
        for stamp, (p, _) in samples.items():
            client.predict(stamp, p)
        client.spin_until(lambda: len(client.calibrated) == BATCH, 'every output')
        expected = [
            [*divmod(stamp, SECOND), core.predict(Prediction(stamp, p))]
            for stamp, (p, _) in samples.items()
        ]
        assert [list(message.data) for message in client.calibrated] == expected
        labels = [(stamp, y) for stamp, (_, y) in samples.items()]
        rng.shuffle(labels)
        for stamp, y in labels:
            client.label(stamp, y)
            core.label(Label(stamp, float(y)))
        matched += BATCH
        client.wait_for_figure('matched', matched)


@pytest.mark.parametrize('stop', [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize('executor', EXECUTORS)
def test_outputs_and_state_are_the_cores_over_a_restart(world: World, executor, stop):
    rng = random.Random(20240607)
    core = pipeline()
    node, client = world.connected({'executor': executor})
    run_rounds(client, core, rng, 1_700_000_000 * SECOND)
    node.stop(stop)

    state = core.calibrator.state()
    saved = world.state()
    assert {key: saved[key] for key in state} == state
    assert saved['updates'] == ROUNDS * BATCH

    second = world.start({'executor': executor})
    second.wait_for(f'going on from {ROUNDS * BATCH} updates')
    client.connect()
    run_rounds(client, core, rng, 1_700_001_000 * SECOND, rounds=1)
    second.stop(stop)
    state = core.calibrator.state()
    saved = world.state()
    assert {key: saved[key] for key in state} == state


@pytest.mark.parametrize('method', [name for name in CALIBRATORS if name != 'ops'])
def test_every_method_gives_the_cores_outputs_and_goes_on_after_a_restart(world: World, method):
    rng = random.Random(20240608)
    core = pipeline(method)
    node, client = world.connected({'method': method})
    run_rounds(client, core, rng, 1_700_000_000 * SECOND)
    node.stop(signal.SIGTERM)
    saved = world.state()
    assert saved['method'] == method
    assert {key: saved[key] for key in core.calibrator.state()} == core.calibrator.state()

    second = world.start({'method': method})
    second.wait_for(f'going on from {ROUNDS * BATCH} updates')
    client.connect()
    run_rounds(client, core, rng, 1_700_001_000 * SECOND, rounds=2)


@pytest.mark.parametrize('executor', EXECUTORS)
def test_output_never_waits_for_a_label(world: World, executor):
    _, client = world.connected({'executor': executor})
    for i in range(1, 20):
        assert client.ask(i * SECOND, i / 20) == pipeline().calibrator.predict(i / 20)
    assert client.figure('matched') == 0


def test_parameters_are_those_of_the_core(world: World):
    chosen = {'gamma': 0.02, 'rho': 7.0, 'radius': 2.0, 'clip': 0.05, 'forgetting': 0.99}
    _, client = world.connected(chosen)
    run_rounds(client, pipeline(**chosen), random.Random(3), 5 * SECOND, rounds=2)


@pytest.mark.parametrize('reliable', [True, False], ids=['reliable', 'best effort'])
def test_publishers_of_either_reliability_are_heard(world: World, reliable):
    client = world.client(reliable=reliable)
    world.start()
    client.connect()
    assert client.teach(7 * SECOND, 0.9, 0) == pipeline().calibrator.predict(0.9)
    assert client.figure('learned') == 1


def test_stamp_goes_through_to_the_nanosecond(world: World):
    _, client = world.connected()
    for stamp in (1, SECOND - 1, 1_700_000_000_123_456_789, (2**32 - 1) * SECOND + 999_999_999):
        client.ask(stamp, 0.5)


def test_label_before_its_prediction_is_learned(world: World):
    _, client = world.connected()
    client.label(5 * SECOND, 1)
    client.wait_for_figure('pending labels', 1)
    client.ask(5 * SECOND, 0.2)
    client.wait_for_figure('learned', 1)


def test_label_within_the_tolerance_is_learned(world: World):
    core = pipeline()
    core.calibrator.update(0.2, 1)
    _, client = world.connected()
    client.ask(5 * SECOND, 0.2)
    client.label(5 * SECOND + 4_000_000, 1)
    client.ask(6 * SECOND, 0.2)
    client.wait_for_figure('learned', 1)
    assert client.ask(7 * SECOND, 0.2) == core.calibrator.predict(0.2)
