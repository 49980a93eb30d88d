# SPDX-License-Identifier: Apache-2.0
"""A live run, recorded while it happens, leaves the state that its replay leaves, to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml
from std_msgs.msg import Bool, Float64

from .harness import EXECUTORS, SECOND, World, array
from .interfaces import interfaces
from .recorder import Recorder
from .typed import REMAPS, Typed

START = 1_000 * SECOND
STEP = SECOND // 20
BATCHES, BATCH = 8, 6


def stamp_of(number: int) -> int:
    return START + number * STEP


def stamped(number: int, *values: float) -> Any:
    return array([*divmod(stamp_of(number), SECOND), *values])


def with_header(message: Any, number: int) -> Any:
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_of(number), SECOND)
    return message


class Binary:
    """Stamped arrays of one probability; some labels are refused, and some never come."""

    types: Any = ()
    parameters: ClassVar[dict[str, Any]] = {'method': 'beta'}

    def prediction(self, number: int, rng: np.random.Generator) -> Any:
        return stamped(number, float(rng.uniform()))

    def labels(self, number: int, rng: np.random.Generator) -> list[Any]:
        value = float(rng.uniform() < 0.7)
        return [] if number % 5 == 0 else [stamped(number, 0.5 if number % 17 == 0 else value)]


class Classes(Binary):
    """One probability per class."""

    parameters: ClassVar[dict[str, Any]] = {'method': 'temperature', 'classes': 3}

    def prediction(self, number: int, rng: np.random.Generator) -> Any:
        return stamped(number, *rng.dirichlet([1.0, 1.0, 1.0]).tolist())

    def labels(self, number: int, rng: np.random.Generator) -> list[Any]:
        return [stamped(number, float(rng.integers(3)))]


class Tracks:
    """Objects with ids, whose labels come one by one."""

    parameters: ClassVar[dict[str, Any]] = {
        'raw.value_field': 'tracks[].confidence',
        'raw.id_field': 'tracks[].source, tracks[].id',
        'label.id_field': 'source, id',
        'label.value_field': 'outcome',
        'label.positive': ['1'],
        'label.negative': ['2'],
        'label.ignore': ['0'],
        'match.objects': 'id',
    }

    def __init__(self) -> None:
        _, self._shapes = interfaces()
        self.types = (self._shapes.Tracks, self._shapes.TrackOutcome)

    def prediction(self, number: int, rng: np.random.Generator) -> Any:
        tracks = [
            self._shapes.Track(source='left', id=k, confidence=float(np.float32(rng.uniform())))
            for k in range(4)
        ]
        return with_header(self._shapes.Tracks(tracks=tracks), number)

    def labels(self, number: int, rng: np.random.Generator) -> list[Any]:
        kind = self._shapes.TrackOutcome
        outcomes = zip(rng.permutation(4).tolist(), rng.integers(3, size=3).tolist())
        return [
            with_header(kind(source='left', id=k, outcome=outcome), number)
            for k, outcome in outcomes
        ]


class Contexts:
    """Detections whose calibration differs by class and height, labelled by boxes."""

    parameters: ClassVar[dict[str, Any]] = {
        'preset': 'vision_msgs/Detection2DArray',
        'match.objects': 'iou',
        'contexts': ['class', 'height'],
        'context.class.field': 'detections[].results[].hypothesis.class_id',
        'context.height.field': 'detections[].bbox.size_y',
        'context.height.edges': [20.0, 60.0],
    }

    def __init__(self) -> None:
        self._vision, _ = interfaces()
        self.types = (self._vision.Detection2DArray, self._vision.Detection2DArray)

    def _detections(self, number: int, rng: np.random.Generator, places: list[int]) -> Any:
        message = self._vision.Detection2DArray()
        for place in places:
            one = self._vision.Detection2D()
            one.bbox.center.position.x = 200.0 * place
            one.bbox.size_x, one.bbox.size_y = 50.0, 10.0 + 40.0 * place
            result = self._vision.ObjectHypothesisWithPose()
            result.hypothesis.class_id = ('car', 'bus')[place % 2]
            result.hypothesis.score = float(rng.uniform())
            one.results.append(result)
            message.detections.append(one)
        return with_header(message, number)

    def prediction(self, number: int, rng: np.random.Generator) -> Any:
        return self._detections(number, rng, [0, 1, 2, 3])

    def labels(self, number: int, rng: np.random.Generator) -> list[Any]:
        return [self._detections(number, rng, [k for k in range(4) if rng.uniform() < 0.6])]


class Published:
    """Messages without a stamp, which have that of their publication."""

    types: Any = (Float64, Bool)
    parameters: ClassVar[dict[str, Any]] = {
        'raw.stamping': 'publication',
        'label.stamping': 'publication',
        'match.policy': 'hold',
        'match.tolerance': 0.02,
    }

    def prediction(self, number: int, rng: np.random.Generator) -> Any:
        return Float64(data=float(rng.uniform()))

    def labels(self, number: int, rng: np.random.Generator) -> list[Any]:
        return [Bool(data=bool(rng.uniform() < 0.6))]


def arguments_of(talk: Typed, kind: Any) -> list[str]:
    """Return the arguments that the node was started with."""
    types = {'raw.type': talk.raw.msg_type, 'label.type': talk.labels.msg_type}
    named = {k: f'{t.__module__.partition(".")[0]}/msg/{t.__name__}' for k, t in types.items()}
    given = []
    for name, value in {**named, **kind.parameters}.items():
        given += ['-p', f'{name}:={json.dumps(value)}']
    for name, target in REMAPS.items():
        given += ['-r', f'{name}:={target}']
    return given


def restarted(
    talk: Typed, parameters: dict[str, Any], sent: dict[str, list[Any]]
) -> dict[str, int]:
    """Stop the node once nothing waits, and start it; return what was published before."""
    client = talk.client
    talk.process.stop()
    client.spin_until(
        lambda: {talk.raw.get_subscription_count(), talk.labels.get_subscription_count()} == {1},
        'the end of the node',
    )
    client.statuses.clear()
    talk.process = talk.world.start(parameters, remaps=REMAPS)
    for publisher in (talk.raw, talk.labels):
        client.spin_until(lambda p=publisher: p.get_subscription_count() == 2, 'both')
    return {topic: sum(map(objects_of, messages)) for topic, messages in sent.items()}


def settled(
    talk: Typed, recorder: Recorder, sent: dict[str, list[Any]], before: dict[str, int]
) -> None:
    """Wait until the node and the recorder have all that was published."""
    client = talk.client
    numbers = {topic: len(messages) for topic, messages in sent.items()}
    client.spin_until(lambda: recorder.counts == numbers, 'the recording')
    for figure, (topic, messages) in zip(('predictions', 'labels'), sent.items()):
        objects = sum(map(objects_of, messages)) - before[topic]
        client.spin_until(lambda f=figure, n=objects: talk.figure(f) == n, figure)


def objects_of(message: Any) -> int:
    """Return how many predictions or labels a message holds."""
    array = getattr(message, 'tracks', getattr(message, 'detections', None))
    return 1 if array is None else len(array)


def calib_replay(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-m', 'calib_node.tools.replay', '--quiet', *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Restarted(Binary):
    """The node is stopped half way, and started again."""


@pytest.mark.parametrize('executor', EXECUTORS)
@pytest.mark.parametrize('make', [Binary, Restarted, Classes, Tracks, Contexts, Published])
def test_state(world: World, tmp_path: Path, make: Callable[[], Any], executor: str):
    kind = make()
    if executor == 'events' and make is Published:
        pytest.skip('the events executor has no stamps of publication; single is taken instead')
    talk = Typed(world, *kind.types, parameters={**kind.parameters, 'executor': executor})
    client = talk.client
    topics = {'/their/raw': talk.raw.msg_type, '/their/labels': talk.labels.msg_type}
    recorder = Recorder(tmp_path / 'live', client, topics)
    for publisher in (talk.raw, talk.labels):
        # The node and the recorder.
        client.spin_until(lambda p=publisher: p.get_subscription_count() == 2, 'both')
    client.spin_until(
        lambda: all(client.node.count_publishers(topic) for topic in topics), 'the publishers'
    )
    rng = np.random.default_rng(7)
    sent: dict[str, list[Any]] = {topic: [] for topic in topics}
    raw, truth = sent.values()
    before = {topic: 0 for topic in topics}
    for batch in range(BATCHES):
        if batch == BATCHES // 2 and make is Restarted:
            before = restarted(talk, {**kind.parameters, 'executor': executor}, sent)
        numbers = range(batch * BATCH, (batch + 1) * BATCH)
        for number in numbers:
            raw.append(kind.prediction(number, rng))
            talk.raw.publish(raw[-1])
        settled(talk, recorder, sent, before)
        for number in rng.permutation(numbers).tolist():
            for label in kind.labels(number, rng):
                truth.append(label)
                talk.labels.publish(label)
        settled(talk, recorder, sent, before)
    talk.process.stop()
    recorder.close()
    live = world.state()
    assert live['updates'] > 20
    state, samples = tmp_path / 'replayed.yaml', tmp_path / 'samples.csv'
    done = calib_replay(
        str(tmp_path / 'live'), '--state', str(state), '--samples', str(samples),
        *arguments_of(talk, kind),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    replayed = yaml.safe_load(state.read_text())
    del live['saved_at'], replayed['saved_at']
    assert replayed == live
