# SPDX-License-Identifier: Apache-2.0
"""States to save, for the tests of the state file."""

from __future__ import annotations

from pathlib import Path

from calib_node.core.calibrators import OnlinePlattScaling
from calib_node.core.state.document import make_document
from calib_node.core.state.file import StateFile

NODE = '/calib_node'


def learned(updates: int = 3) -> OnlinePlattScaling:
    calibrator = OnlinePlattScaling()
    for number in range(updates):
        calibrator.update(0.7 + number / 11, number % 3 // 2)
    return calibrator


def document(updates: int = 3) -> dict:
    return make_document(learned(updates), NODE)


def saved(path: Path, *updates: int) -> StateFile:
    """Return a state file that was saved after each number of updates."""
    file = StateFile(path, NODE)
    for number in updates:
        assert file.save(document(number))
    return file
