# SPDX-License-Identifier: Apache-2.0
"""The demo's run: the node twice, half of the answers each, and what it knows over the restart."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calib_node.core.state.disk import read_document
from calib_node.ros.topics import LABELS, RAW
from calib_node.tools.demo_recording import DemoRecording
from calib_node.tools.node_process import NodeError, NodeProcess
from calib_node.tools.player import Heard, Player, connected
from calib_node.tools.progress import Progress
from calib_node.tools.recording import Answer, Sample

NAMESPACE = '/calib_demo'
RECORDING = 'recording'
"""The folder of what was published, within that of the output."""

START_WITHIN = 15.0
"""Seconds for the node to start and the topics to get through."""

DRAIN_WITHIN = 8.0
"""Seconds for the last answers and labels to be taken, and for a node to leave the network."""

SILENT_AFTER = 5.0
"""Seconds without a prediction from the node after which it is given up."""


class Stopped(Exception):
    """A signal asked for the end."""


class Session:
    """Plays answers to the node's executable in a process of its own.

    Parameters
    ----------
    executable : Path
        The node's.
    output : Path
        Folder of the state file, the log and the recording.
    rate : float
        Answers a second.

    Attributes
    ----------
    signals : list of int
        Signals received; one ends the run.
    complaints : list of str
        What went other than it should, though the run went on.
    figures : dict of str to str
        The counts of the node's diagnostics over both halves.
    """

    def __init__(self, executable: Path, output: Path, rate: float) -> None:
        self.state_file = output / 'state.yaml'
        self.log = output / 'node.log'
        topics = tuple(f'{NAMESPACE}/{name}' for name in (RAW, LABELS))
        self.recording = DemoRecording(output / RECORDING, topics)
        self.signals: list[int] = []
        self.complaints: list[str] = []
        self.figures: dict[str, str] = {}
        self._executable = executable
        self._rate = rate
        self._node: NodeProcess | None = None

    def run(self, answers: Sequence[Answer], delays: Sequence[float]) -> list[Sample]:
        """Play the answers in two halves with a restart between them; return the samples.

        Raises
        ------
        NodeError
            If the node does not start, ends by itself or says nothing.
        Stopped
            If a signal came.
        """
        half = len(answers) // 2
        try:
            with self.recording, connected(NAMESPACE, self.check, self.recording) as player:
                self._start(player)
                print(
                    f'\nFirst half: {half} answers at {self._rate:g}/s, labels '
                    f'{min(delays):.1f} to {max(delays):.1f} s late and out of order'
                )
                self._play(player, answers[:half], delays[:half])
                print('\nRestart of the node')
                self._restart(player)
                print('\nSecond half')
                self._play(player, answers[half:], delays[half:])
                self._stop()
                return self._count(player)
        finally:
            if self._node is not None:
                self._node.stop()

    def check(self) -> None:
        """Raise if the run should not go on."""
        if self.signals:
            raise Stopped
        if self._node is not None:
            self._node.check()

    def _start(self, player: Player) -> None:
        """Start the node and wait until each topic gets through."""
        # JSON is YAML: any path is taken as it is.
        state_file = json.dumps(str(self.state_file.resolve()))
        command = [str(self._executable), '--ros-args', '--disable-external-lib-logs']
        for remap in (f'__ns:={NAMESPACE}', f'/diagnostics:={NAMESPACE}/diagnostics'):
            command += ['-r', remap]
        for parameter in (f'state.file:={state_file}', 'diagnostics.period:=0.2'):
            command += ['-p', parameter]
        self._node = NodeProcess(command, self.log)
        if not player.greet(START_WITHIN):
            raise self._node.error(f'Nothing came back from the node within {START_WITHIN:g} s')

    def _stop(self) -> str:
        """Stop the node; return how it ended."""
        assert self._node is not None
        how = self._node.stop()
        self._node = None
        if how != 'exit code 0':
            self.complaints.append(f'the node ended so: {how}')
        if not self.state_file.exists():
            raise NodeError(f'The node has not saved its state to {self.state_file}.')
        return how

    def _play(self, player: Player, answers: Sequence[Answer], delays: Sequence[float]) -> None:
        """Publish answers and labels, and wait until the node has taken all of them."""
        heard, node = player.heard, self._node
        assert node is not None

        def published() -> None:
            progress.advance(_note(heard))
            if time.monotonic() - heard.last > SILENT_AFTER:
                raise node.error(f'Nothing has come back from the node for {SILENT_AFTER:g} s')

        begin = time.monotonic()
        with Progress(len(answers), 'published') as progress:
            stamps = player.play(answers, delays, self._rate, published)

        def answered() -> int:
            return sum(stamp in heard.calibrated for stamp in stamps)

        total = len(answers)
        player.wait_for(lambda: answered() == heard.figure('matched') == total, DRAIN_WITHIN)
        matched = heard.figure('matched')
        # The process is new in each half, and so is its count.
        for name, value in heard.figures.items():
            if value.isdecimal():
                self.figures[name] = str(int(self.figures.get(name, '0')) + int(value))
        if not answered():
            raise node.error('No prediction came back from the node')
        print(
            f'  {total} published, {answered()} came back, {matched} labels matched, '
            f'in {time.monotonic() - begin:.1f} s'
        )
        if matched != total:
            self.complaints.append(f'{matched} of {total} labels were matched')

    def _restart(self, player: Player) -> None:
        """Stop the node, start it again and compare what it knows before and after."""
        how = self._stop()
        before = read_document(self.state_file)
        print(f'  stopped by SIGINT, {how}; its state file holds\n    {_learned(before)}')
        if not player.wait_until_alone(DRAIN_WITHIN):
            raise NodeError('The node has ended, but the network still shows it.')
        self._start(player)
        after = {key: float(player.heard.figures[key]) for key in ('a', 'b', 'updates')}
        print(f'  started again, it goes on from\n    {_learned(after)}')
        if all(before[key] == value for key, value in after.items()):
            print('  the same to the last bit')
        else:
            self.complaints.append('after the restart the node did not go on from its state')

    def _count(self, player: Player) -> list[Sample]:
        """Return all samples, and complain if any did not come back exactly once."""
        heard = player.heard
        samples = [
            Sample(stamp, answer.probability, heard.calibrated.get(stamp), answer.label)
            for stamp, answer in player.published.items()
        ]
        missing = sum(sample.calibrated is None for sample in samples)
        for number, what in (
            (missing, 'did not come back'),
            (heard.repeated, 'came back again'),
            (heard.unknown, 'came that were never published here'),
        ):
            if number:
                self.complaints.append(f'{number} of {len(samples)} predictions {what}')
        return samples


def _note(heard: Heard) -> str:
    """Return how the node does, from its diagnostics."""
    try:
        raw, calibrated = (float(heard.figures[key]) for key in ('raw ECE', 'ECE'))
    except (KeyError, ValueError):
        # There are no figures before the first match.
        return ''
    return f'ECE {calibrated:.3f} (raw {raw:.3f})'


def _learned(state: dict[str, Any]) -> str:
    return f'a = {state["a"]!r}, b = {state["b"]!r}, {int(state["updates"])} updates'
