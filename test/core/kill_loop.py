# SPDX-License-Identifier: Apache-2.0
"""Lets process after process learn and save at full load, kills each, and looks at the file.

    python kill_loop.py FOLDER KILLS SEED

prints a table of their lives in JSON. It is a program of its own because a process that forks
should have no other threads; forked from one that has loaded everything, a process lives as soon
as it is made.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import sys
import time
from array import array
from itertools import count
from pathlib import Path
from typing import Any

from saved_states import NODE

from calib_node.core.calibrators import OnlinePlattScaling
from calib_node.core.matching import StampMatcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import Label, Prediction
from calib_node.core.state.file import StateFile
from calib_node.core.state.keeper import StateKeeper

PERIOD = 0.05
"""Seconds between autosaves."""

LONGEST_LIFE = 0.17
MARKS = 1000
"""More than a life has milliseconds."""


def sample(number: int) -> tuple[float, int]:
    """Return the prediction and the label of an update."""
    return 0.05 + 0.9 * (number * 7919 % 1009) / 1009, number * 104729 % 997 // 499


class Board:
    """Where a process notes how much it has learned by when, for those who live after it.

    Moments are in seconds of its own processor time. It never waits, so that they are seconds of
    any clock, but for those in which the machine does something else.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 24 * (MARKS + 1))
        self._numbers = memoryview(self._memory).cast('d')

    def clear(self) -> None:
        self._numbers[0] = self._numbers[1] = self._numbers[2] = 0.0

    def note(self, updates: int) -> None:
        place = int(self._numbers[0]) + 1
        mark = array('d', [time.process_time(), time.monotonic(), updates])
        self._numbers[3 * place : 3 * place + 3] = memoryview(mark)
        # Last, so that a mark that is counted is whole.
        self._numbers[0] = place

    def note_save(self, started: float) -> None:
        """Note when a save begins, and by 0 that it is over."""
        if not started:
            self._numbers[1] = max(self._numbers[1], time.monotonic() - self._numbers[2])
        self._numbers[2] = started

    @property
    def longest_save(self) -> float:
        """Seconds that a save took, that which did not end included."""
        last, started = self._numbers[3 * int(self._numbers[0]) + 1], self._numbers[2]
        return max(self._numbers[1], last - started if started else 0.0)

    def marks(self) -> list[tuple[float, int]]:
        """Return moments and the number of updates by then."""
        numbers = self._numbers
        places = range(3, 3 * int(numbers[0]) + 3, 3)
        return [(numbers[place], int(numbers[place + 2])) for place in places]

    @property
    def processor_and_clock(self) -> tuple[float, float]:
        """Seconds from the first mark to the last, of both kinds."""
        first, last = self._numbers[3:5], self._numbers[3 * int(self._numbers[0]) :][:2]
        return last[0] - first[0], last[1] - first[1]


class WatchedFile(StateFile):
    """A state file that notes how long it takes to save."""

    def __init__(self, path: Path, board: Board) -> None:
        super().__init__(path, NODE)
        self._board = board

    def save(self, document: dict[str, Any]) -> bool:
        self._board.note_save(time.monotonic())
        try:
            return super().save(document)
        finally:
            self._board.note_save(0.0)


def live(path: Path, board: Board) -> None:
    """Go on from the file and learn as fast as may be, saving from time to time."""
    pipeline = Pipeline(OnlinePlattScaling(), StampMatcher())
    calibrator = pipeline.calibrator
    keeper = StateKeeper(calibrator, WatchedFile(path, board))
    keeper.start()
    assert not keeper.problem
    assert not keeper.notes
    next_save, next_mark = time.monotonic() + PERIOD, 0.0
    for number in count(calibrator.updates):
        p, y = sample(number)
        pipeline.predict(Prediction(number + 1, p))
        pipeline.label(Label(number + 1, float(y)))
        now = time.monotonic()
        if now >= next_mark:
            board.note(calibrator.updates)
            next_mark = now + 0.001
        if now >= next_save:
            keeper.save_in_background()
            next_save += PERIOD


def run(path: Path, board: Board, life: float) -> None:
    """Let a process live for a while from its first update on, and kill it."""
    board.clear()
    child = os.fork()
    if not child:
        # Whatever happens, what follows is the parent's.
        try:
            live(path, board)
        finally:
            os._exit(1)
    deadline = time.monotonic() + 30.0
    while not board.marks() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(life)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), 'the process ended by itself'


def age_of(updates: int, marks: list[tuple[float, int]]) -> float:
    """Return how long before its end a process knew no more than a file holds."""
    known = [moment for moment, learned in marks if learned <= updates]
    return marks[-1][0] - (known[-1] if known else marks[0][0])


def look(path: Path, replayed: OnlinePlattScaling) -> int:
    """Check the file and its .bak, to the last bit; return its number of updates."""
    calibrator, file = OnlinePlattScaling(), StateFile(path, NODE)
    document, problems = file.recover(calibrator)
    assert not problems, problems
    assert document is not None or replayed.updates == 0, 'the file is gone'
    assert calibrator.updates >= replayed.updates, 'the file is an older one'
    for number in range(replayed.updates, calibrator.updates):
        replayed.update(*sample(number))
    assert calibrator.state() == replayed.state()
    if file.backup.exists():
        StateFile(file.backup, NODE).load(OnlinePlattScaling())
    return calibrator.updates


def main(folder: Path, kills: int, seed: int) -> list[dict[str, Any]]:
    path, board, generator = folder / 'state.yaml', Board(), random.Random(seed)
    replayed = OnlinePlattScaling()
    lives = []
    for _ in range(kills):
        run(path, board, generator.uniform(0.0, LONGEST_LIFE))
        marks = board.marks()
        processor, clock = board.processor_and_clock
        in_writing = path.with_name(f'{path.name}.tmp').exists()
        lives.append(
            {
                'age': age_of(look(path, replayed), marks),
                'in writing': in_writing,
                'length': clock,
                'learned': marks[-1][1] - marks[0][1],
                'longest save': board.longest_save,
                'without processor': clock - processor,
            }
        )
    return lives


if __name__ == '__main__':
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
