# SPDX-License-Identifier: Apache-2.0
"""What an operator reads of the node: its status and its figures."""

from __future__ import annotations

import math
import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core import metrics
from calib_node.ros.topics import LABELS, RAW

from .harness import SECOND, World

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
ERROR, STALE = DiagnosticStatus.ERROR, DiagnosticStatus.STALE


def test_the_status_follows_the_conventions(world: World):
    _, client = world.connected()
    client.teach(SECOND, 0.9, 1)
    status = client.wait_for_status(OK, 'calibrating')
    assert status.name == 'calib_node: calibration'
    assert status.hardware_id == '/calib_node'
    assert all(isinstance(pair.value, str) and pair.key for pair in status.values)
    assert len(client.figures()) == len(status.values)
    header = client.statuses[-1][0].header
    assert abs(header.stamp.sec - time.time()) < 60
    figures = client.figures()
    assert figures['method'] == 'ops'
    assert figures['topic labels'] == '/labels'
    assert figures['state file'] == str(world.state_path())
    assert figures['state saved at'] == ''


def test_stale_without_predictions_and_ok_with_them(world: World):
    client = world.client()
    world.start({'diagnostics.stale_after': 0.3})
    client.wait_for_status(STALE, 'no prediction on /raw_probabilities')
    client.connect()

    def ok_while_they_come() -> bool:
        client.predict(SECOND, 0.5)
        return client.status.level == OK

    client.spin_until(ok_while_they_come, 'status OK')
    client.wait_for_status(STALE)


def test_stale_names_the_topic_as_resolved(world: World):
    client = world.client(namespace='/r1', topics={RAW: 'door/raw'})
    remaps = {RAW: 'door/raw', LABELS: '/truth'}
    world.start({'diagnostics.stale_after': 0.3}, namespace='/r1', remaps=remaps)
    client.wait_for_status(STALE, 'no prediction on /r1/door/raw for 0.')
    assert client.figures()[f'topic {LABELS}'] == '/truth'
    assert client.figures()[f'publishers on {RAW}'] == '1'


def test_error_while_the_state_cannot_be_saved(world: World):
    _, client = world.connected()
    world.state_path().parent.mkdir(parents=True, exist_ok=True)
    # Not even root can put a file in the place of a folder.
    world.state_path().mkdir()
    client.teach(SECOND, 0.9, 0)
    assert not client.trigger('save_state').success
    client.wait_for_status(ERROR, 'cannot be saved', str(world.state_path()))
    world.state_path().rmdir()
    assert client.trigger('save_state').success
    client.wait_for_status(OK)


def test_warn_from_min_samples_on_when_badly_calibrated(world: World):
    client = world.connected({'ece.min_samples': 20, 'ece.warn': 0.3, 'learning': False})[1]
    for i in range(1, 20):
        client.teach(i * SECOND, 0.9, 0)
    assert client.next_status().level == OK
    client.teach(20 * SECOND, 0.9, 0)
    client.wait_for_status(WARN, 'ECE 0.900 is above ece.warn 0.3')


def test_ok_when_well_calibrated(world: World):
    client = world.connected({'ece.min_samples': 10, 'learning': False})[1]
    for i in range(1, 21):
        client.teach(i * SECOND, 0.9, 0 if i % 10 == 0 else 1)
    assert client.next_status().level == OK
    assert client.figures()['ECE'] == '0.000000'


# Figures


def test_figures_are_those_of_the_core_and_come_with_the_first_match(world: World):
    client = world.connected({'ece.period': 0.02, 'ece.bins': 4})[1]
    client.ask(SECOND, 0.9)
    client.next_status()
    assert not client.ece
    assert not client.raw_ece
    assert not client.reliability
    assert client.figures()['ECE'] == 'no match yet'
    samples = [(0.9, 0), (0.8, 1), (0.85, 0), (0.1, 1), (0.2, 0), (0.55, 1), (1.0, 0)]
    published = [client.teach((i + 2) * SECOND, *sample) for i, sample in enumerate(samples)]
    raw, labels = zip(*samples, strict=True)
    for heard, p in ((client.raw_ece, raw), (client.ece, published)):
        client.wait_for_last(heard, pytest.approx(metrics.ece(p, labels, bins=4), abs=1e-12))
    # Counts of two diagrams; what is published before the last match holds fewer.
    client.spin_until(
        lambda: client.reliability and sum(client.reliability[-1].data[::3]) == 2 * len(samples),
        'diagrams of all samples',
    )
    message = client.reliability[-1]
    assert [dim.size for dim in message.layout.dim] == [2, 4, 3]
    assert [dim.stride for dim in message.layout.dim] == [24, 12, 3]
    assert [dim.label for dim in message.layout.dim] == [
        'raw,calibrated',
        'bin',
        'count,mean_probability,frequency',
    ]
    expected = []
    for p in (raw, published):
        diagram = metrics.reliability(p, labels, bins=4)
        for row in zip(diagram.count, diagram.mean, diagram.frequency, strict=True):
            expected += row
    assert list(message.data) == pytest.approx(expected, abs=1e-12, nan_ok=True)

    figures = client.figures()
    assert float(figures['ECE']) == pytest.approx(client.ece[-1], abs=1e-6)
    assert float(figures['raw ECE']) == pytest.approx(client.raw_ece[-1], abs=1e-6)
    assert float(figures['raw Brier score']) == pytest.approx(metrics.brier(raw, labels), abs=1e-6)
    assert float(figures['log-loss (clip 0.001)']) == pytest.approx(
        metrics.log_loss(published, labels), abs=1e-6
    )
    assert not any(math.isnan(value) for value in client.ece)


def test_predictions_of_one_stamp_are_warned_of_once(world: World):
    node, client = world.connected()
    for _ in range(3):
        client.ask(5 * SECOND, 0.5)
    client.wait_for_figure('predictions of a stamp already waiting', 2)
    node.wait_for('share a stamp')
    assert len([line for line in node.lines if 'share a stamp' in line]) == 1
