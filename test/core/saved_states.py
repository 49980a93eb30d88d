# SPDX-License-Identifier: Apache-2.0
"""States to save, for the tests of the state file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calib_node.core.calibrators import create, create_multiclass
from calib_node.core.state.document import make_document
from calib_node.core.state.file import StateFile

NODE = '/calib_node'


def made(method: str = 'ops', classes: int = 1) -> Any:
    return create(method) if classes == 1 else create_multiclass(method, classes)


def learned(updates: int = 3, method: str = 'ops', classes: int = 1) -> Any:
    """Return a calibrator after so many updates, which are the same each time."""
    calibrator = made(method, classes)
    for number in range(updates):
        p = 0.7 + number % 7 / 31
        rest = [(1.0 - p) / (classes - 1)] * (classes - 1) if classes > 1 else []
        calibrator.update([p, *rest] if rest else p, number % 3 // 2)
    return calibrator


def learn(calibrator: Any) -> None:
    """Learn what `learned` learns next."""
    calibrator.restore(learned(calibrator.updates + 1, calibrator.name).state())


def document(updates: int = 3, method: str = 'ops', classes: int = 1) -> dict:
    return make_document(learned(updates, method, classes), NODE)


def saved(path: Path, *updates: int, method: str = 'ops', classes: int = 1) -> StateFile:
    """Return a state file that was opened and then saved after each number of updates."""
    file = StateFile(path, NODE)
    file.recover(made(method, classes))
    for number in updates:
        assert file.save(document(number, method, classes))
    return file


def updates_in(path: Path, method: str = 'ops', classes: int = 1) -> int:
    """Return how much a file holds, which must be what `learned` gives, to the last bit."""
    calibrator = made(method, classes)
    StateFile(path, NODE).load(calibrator)
    assert calibrator.state() == learned(calibrator.updates, method, classes).state()
    return calibrator.updates


def started(path: Path, method: str = 'ops', classes: int = 1) -> tuple[int, list[str]]:
    """Start from a file; return how much is restored, to the last bit, and the problems."""
    calibrator = made(method, classes)
    _, problems = StateFile(path, NODE).recover(calibrator)
    assert calibrator.state() == learned(calibrator.updates, method, classes).state()
    return calibrator.updates, problems


def names(path: Path) -> set[str]:
    """Return what is in the folder of a file, but for its lock."""
    return {entry.name for entry in path.parent.iterdir()} - {f'{path.name}.lock'}


def refuse(*_: object, **__: object) -> None:
    """Stand for a call of the system that fails."""
    raise OSError('the disk is gone')
