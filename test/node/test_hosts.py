# SPDX-License-Identifier: Apache-2.0
"""Node and classifier on one host, ground truth on another, and the cable is cut for a while."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from calib_node.core.samples import Label, Prediction

from . import talker
from .harness import SECOND, OtherProcess, World, pipeline, wait_until
from .hosts import Hosts
from .process import run

ROBOT, DESK = 0, 1
RECOVERY = 60.0
"""Seconds within which two hosts must have found each other again."""


class Talker(OtherProcess):
    """What a host publishes to the node and hears of it."""

    def __init__(self, within: list[str], environment: dict[str, str]) -> None:
        self.calibrated: dict[int, float] = {}
        self.diagnostics: list[dict[str, str]] = []
        command = [*within, sys.executable, str(Path(talker.__file__))]
        super().__init__(run(command, environment, stdin=subprocess.PIPE))

    def _read(self) -> None:
        for line in self._process.stdout:
            if not line.startswith(talker.HEARD):
                self.lines.append(line.rstrip('\n'))
                continue
            what = json.loads(line[len(talker.HEARD) :])
            if isinstance(what, dict):
                self.diagnostics.append(what)
            else:
                sec, nanosec, *value = what
                self.calibrated[int(sec) * SECOND + int(nanosec)] = value[0] if value else 0.5

    def say(self, topic: str, stamp: int, *value: float) -> None:
        print(json.dumps([topic, [*divmod(stamp, SECOND), *value]]), file=self._process.stdin)
        self._process.stdin.flush()

    def predict(self, stamp: int, probability: float) -> float:
        self.say('raw_probabilities', stamp, probability)
        return wait_until(lambda: self.calibrated.get(stamp), 'calibrated probability')

    def figure(self, name: str) -> str:
        return self.diagnostics[-1][name] if self.diagnostics else ''

    def wait_for_figure(self, name: str, value: object) -> None:
        wait_until(lambda: self.figure(name) == str(value), f'{name} of {value}')

    def end(self) -> None:
        self._process.stdin.close()
        try:
            assert self.wait() == 0, self.output
        finally:
            self.kill()


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    with Hosts() as both:
        yield both


def connect(classifier: Talker, truth: Talker) -> None:
    """Wait until predictions, labels and outputs flow between the node and both hosts."""
    before = int(classifier.figure('empty labels') or 0)
    known = len(truth.calibrated)

    def flow() -> bool:
        stamp = time.time_ns()
        classifier.say('raw_probabilities', stamp)
        truth.say('labels', stamp)
        return (
            int(classifier.figure('empty labels') or 0) > before
            and len(truth.calibrated) > known
            and bool(truth.diagnostics)
        )

    wait_until(flow, f'flow of messages; {classifier.output}{truth.output}', RECOVERY)


@pytest.mark.parametrize(
    ('seconds', 'quick_discovery'),
    [
        (3.0, True),
        # Longer than the 20 s after which a participant is taken for gone.
        pytest.param(30.0, False, marks=pytest.mark.slow),
    ],
    ids=['short', 'long'],
)
def test_predictions_go_on_while_the_cable_is_cut_and_late_labels_match(
    hosts: Hosts, world: World, monkeypatch, seconds: float, quick_discovery: bool
):
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    # The hosts share a memory that two real ones do not.
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    if not quick_discovery:
        for name in ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE'):
            monkeypatch.delenv(name)
    world.start({'diagnostics.period': 0.1}, within=hosts.command(ROBOT))
    classifier, truth = (Talker(hosts.command(i), world.environment()) for i in (ROBOT, DESK))
    world.processes += [classifier, truth]
    core = pipeline()

    def predict() -> int:
        stamp = time.time_ns()
        p = 0.5 + 0.4 * (stamp % 7) / 7
        expected = core.predict(Prediction(stamp, p))
        assert classifier.predict(stamp, p) == expected
        return stamp

    def label(stamps: list[int]) -> None:
        for stamp in stamps:
            truth.say('labels', stamp, stamp % 2)
            core.label(Label(stamp, stamp % 2))
        for listener in (classifier, truth):
            listener.wait_for_figure('matched', core.matcher.counts.matched)

    connect(classifier, truth)
    for _ in range(3):
        label([predict()])

    hosts.cut()
    end = time.monotonic() + seconds
    during: list[int] = []
    seen = len(classifier.diagnostics)
    while time.monotonic() < end:
        during.append(predict())
        following = time.monotonic() + 0.1
        wait_until(lambda following=following: time.monotonic() > following, 'time')
    assert not truth.calibrated.keys() & during
    heard = classifier.diagnostics[seen:]
    assert len(heard) > seconds
    assert {status['level'] for status in heard} == {0}

    hosts.mend()
    connect(classifier, truth)
    label(during)
    label([predict()])
    assert core.calibrator.updates == 3 + len(during) + 1
    state = core.calibrator.state()
    for listener in (classifier, truth):
        assert [listener.figure(name) for name in 'ab'] == [repr(state[name]) for name in 'ab']
