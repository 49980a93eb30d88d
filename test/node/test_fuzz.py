# SPDX-License-Identifier: Apache-2.0
"""Thousands of random messages, changes and calls over the middleware, and a stream beside it.

The stream is fed the same in the same order. Predictions and labels have a topic each, so that a
batch of the one is heard before the other begins. Every output is compared with the message that
it answers, to the last bit, and after every batch all figures of the node with those of the stream.
"""

from __future__ import annotations

import math
import random
import struct
from collections import deque
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import serialize_message

from calib_node.core.state.document import make_document, restore_document
from calib_node.ros.messages import InstalledMessages
from calib_node.stream.parameters import ParameterError
from calib_node.stream.settings import Settings
from calib_node.stream.stream import Stream

from .harness import SECOND, Client, World, array, decoded

MS = SECOND // 1000
NAN, INF = math.nan, math.inf
ODD = [NAN, INF, -INF, -0.1, 1.5, 1e300, 1.0 + 1e-7, -1e-7, 5e-324, 0.0, 1.0]
GOOD: dict[str, list[Any]] = {
    'gamma': [0.1, 1e-6, 1e6, 1],
    'rho': [100.0, 0.01, 1e6],
    'radius': [100.0, 1e-3],
    'clip': [0.01, 1e-9, 0.2],
    'forgetting': [1.0, 0.999, 1e-9],
    'learning': [True, True, False],
    'match.policy': ['nearest', 'nearest', 'exact', 'hold'],
    'match.tolerance': [0.01, 0.0, 0.5],
    'match.horizon': [60.0, 0.001, 3600.0],
    'match.max_disorder': [1.0, 0.0, 100.0],
    'match.capacity': [10_000, 1, 20],
    'ece.bins': [15, 1, 100],
    'ece.window': [1000, 1, 30],
    'label.offset': [0.0, 0.0, 0.005, -2.0],
    'on_invalid': ['drop', 'pass'],
}
BAD: dict[str, list[Any]] = {
    'gamma': [NAN, -1.0, 0.0, 'fast'],
    'clip': [0.0, 0.5, INF],
    'match.policy': ['neerest', 1],
    'match.capacity': [0, -1, 0.5],
    'ece.bins': [0, 1001],
    'learning': [1, 'yes'],
    'method': ['beta'],
    'gama': [0.1],
}


class Beside:
    """A client of the node, and the stream that must come to the same.

    Parameters
    ----------
    client : Client
        Connected to a node whose state is kept in a file that no timer writes.
    classes : int
        As of the node.
    seed : int
        Of all chance.
    """

    def __init__(self, client: Client, classes: int, seed: int) -> None:
        self.client, self.classes = client, classes
        self.rng = random.Random(seed)
        settings = Settings.from_mapping({'classes': classes, 'state.enabled': False})
        self.stream = Stream(settings, InstalledMessages(), lambda *_: None)
        self.saved: dict[str, Any] | None = None
        self.clock = 1_700_000_000 * SECOND
        self.recent: deque[int] = deque([self.clock], maxlen=100)
        self.sent = 0
        self._begin()

    def _begin(self) -> None:
        """Note what the node has heard until now; what was under way comes before a marker."""
        self.client.send_raw([0.5])
        self.client.send_label([0.5])
        self.client.wait_for_figure('refused: too_short', 2)
        figures = self.client.figures()
        for name, hear in (('predictions', self.stream.on_prediction), ('labels', self.hear_label)):
            for _ in range(int(figures[name]) - 1):
                hear(serialize_message(array([0.0, 0.0])))
            hear(serialize_message(array([0.5])))

    def hear_label(self, message: bytes) -> None:
        self.stream.on_label(message)

    # Messages

    def _stamp(self) -> int:
        chance = self.rng.random()
        if chance < 0.9:
            self.clock += self.rng.randrange(20 * MS)
        elif chance < 0.93:
            return self.clock - self.rng.randrange(900 * MS)
        elif chance < 0.97:
            return self.rng.choice(self.recent)
        elif chance < 0.98:
            return 0
        elif chance < 0.99:
            return self.clock + 100 * SECOND
        else:
            self.clock += self.rng.choice([-30, 30, 100]) * SECOND
            self.recent.clear()
        self.recent.append(self.clock)
        return self.clock

    def _probabilities(self) -> list[float]:
        rng = self.rng
        if rng.random() < 0.03:
            return []
        if self.classes == 1:
            return [rng.random() if rng.random() < 0.9 else rng.choice(ODD)]
        p = [rng.expovariate(1.0) for _ in range(self.classes)]
        p = [x / math.fsum(p) for x in p]
        if rng.random() < 0.1:
            p[rng.randrange(self.classes)] = rng.choice(ODD)
        return p

    def _spoilt(self, data: list[float]) -> Any:
        """Return a message that is not what it should be."""
        rng = self.rng
        kind = rng.randrange(7)
        if kind == 0:
            return array(data[: rng.randrange(2)])
        if kind == 1:
            return array([*data, 0.5, 0.5])
        if kind == 2:
            return array(data, offset=1)
        if kind == 3:
            return array(data, sizes=rng.choice([[2], [3, 1], [7]]))
        if kind == 4:
            return array([rng.choice([NAN, -1.0, 0.5, 2.0**33, INF]), *data[1:]])
        if self.stream.settings.on_invalid == 'pass':
            # It would come back, and the client could not read it.
            return array([data[0], 1e9, *data[2:]])
        whole = serialize_message(array(data))
        # In whole words, which is what the middleware fills a message up to.
        if kind == 5:
            return whole[: rng.randrange(4, len(whole), 4)]
        return b'\x00\x01\x00\x00' + rng.randbytes(rng.randrange(0, 60, 4))

    def _message(self, stamp: int, rest: list[float]) -> bytes:
        """Return a message as bytes, in one of the shapes that it may have."""
        data = [float(number) for number in (*divmod(stamp, SECOND), *rest)]
        chance = self.rng.random()
        if chance < 0.05:
            message = self._spoilt(data)
            return message if isinstance(message, bytes) else serialize_message(message)
        if chance < 0.15:
            return serialize_message(array(data, sizes=[len(data)]))
        if chance < 0.2:
            return struct.pack(f'>HH3I4x{len(data)}d', 0, 0, 0, 0, len(data), *data)
        return serialize_message(array(data))

    def predictions(self, number: int) -> None:
        """Send predictions, and compare what comes back."""
        heard = len(self.client.calibrated)
        expected = []
        for _ in range(number):
            message = self._message(self._stamp(), self._probabilities())
            self.client.raw_publisher.publish(message)
            answer = self._answer(message)
            if answer is not None and list(answer.data) != [0.0, 0.0]:
                expected.append(answer)
        self._settle()
        self.client.spin_until(
            lambda: len(self.client.calibrated) >= heard + len(expected), 'every output'
        )
        for message, answer in zip(self.client.calibrated[heard:], expected, strict=True):
            assert np.array(message.data).tobytes() == np.array(answer.data).tobytes()
            assert message.layout == answer.layout

    def _answer(self, message: bytes) -> Any:
        """Let the stream answer; return the message that is to come back."""
        self.sent += 1
        answer = self.stream.on_prediction(message)
        return decoded(answer) if isinstance(answer, bytes) else answer

    def labels(self, number: int) -> None:
        """Send labels."""
        rng = self.rng
        for _ in range(number):
            stamp = rng.choice(self.recent)
            if rng.random() < 0.2:
                stamp = max(stamp + rng.randrange(-15 * MS, 300 * MS), 0)
            value = float(rng.randrange(max(self.classes, 2)))
            rest = [value] if rng.random() < 0.95 else rng.choice([[], [NAN], [0.5], [7.0]])
            message = self._message(stamp, rest)
            self.client.label_publisher.publish(message)
            self.sent += 1
            self.stream.on_label(message)
        self._settle()

    # Changes and calls

    def change(self) -> None:
        """Set a few parameters at once, and one that cannot be."""
        names = self.rng.sample(list(GOOD), 3)
        changes = {name: self.rng.choice(GOOD[name]) for name in names}
        for name in ('learning', 'match.policy', 'match.horizon', 'match.capacity'):
            if name not in changes and self.rng.random() < 0.7:
                changes[name] = GOOD[name][0]
        settings, refusal = self.stream.settings, ''
        try:
            settings = settings.changed(changes)
        except ParameterError as error:
            # Such as a tolerance where the policy takes none.
            refusal = str(error)
        result = self.client.set_all(changes)
        assert result.successful is (not refusal), result.reason
        assert refusal in result.reason
        self.stream.configure(settings)
        name = self.rng.choice(list(BAD))
        (refused,) = self.client.set_each({name: self.rng.choice(BAD[name])})
        assert not refused.successful
        assert refused.reason
        self.sent += 2

    def call(self) -> None:
        """Call a service."""
        service = self.rng.choice(['save_state', 'save_state', 'load_state', 'reset'])
        answer = self.client.trigger(service)
        assert answer.success is (service != 'load_state' or self.saved is not None)
        self.sent += 1
        if service == 'load_state':
            if self.saved is not None:
                restore_document(self.stream.kept, self.saved)
            return
        if service == 'reset':
            self.stream.reset()
        self.saved = make_document(self.stream.kept, '/calib_node')

    # What must be

    def _settle(self) -> None:
        """Wait until the node has heard all, and compare every figure with the stream."""
        expected = self._figures()
        heard = {key: expected[key] for key in ('predictions', 'labels', 'refused')}

        def has_heard() -> bool:
            figures = self.client.figures()
            return all(figures[key] == value for key, value in heard.items())

        self.client.spin_until(has_heard, f'{heard} heard')
        figures = self.client.figures()
        assert {key: figures[key] for key in expected} == expected

    def _figures(self) -> dict[str, str]:
        figures = self.stream.status().figures
        # The node's own has a place, and the stream's has none.
        del figures['state file'], figures['state saved at']
        return figures


@pytest.mark.parametrize(
    ('executor', 'classes', 'number'),
    [
        pytest.param('events', 1, 6_000, marks=pytest.mark.slow),
        ('events', 1, 1_000),
        ('single', 1, 1_000),
        ('events', 3, 1_000),
    ],
)
def test_thousands_of_messages_changes_and_calls(world: World, executor, classes, number):
    parameters = {'executor': executor, 'classes': classes, 'state.autosave_period': 0.0}
    node, client = world.connected(parameters)
    beside = Beside(client, classes, seed=number + classes)
    while beside.sent < number:
        beside.predictions(100)
        beside.labels(beside.rng.choice([20, 80, 150]))
        if beside.rng.random() < 0.4:
            beside.change()
        if beside.rng.random() < 0.2:
            beside.call()
    core = beside.stream.pipeline
    assert core.counts.learned > number // 20, 'hardly anything was learned'
    core.flush()
    node.stop()
    state = core.calibrator.state()
    saved = world.state()
    assert {key: saved[key] for key in state} == state
