# SPDX-License-Identifier: Apache-2.0
"""What the tests of the core share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from saved_states import NODE, learned

import calib_node
from calib_node.core.state.file import StateFile
from calib_node.core.state.keeper import StateKeeper

# The same examples in every run, so that a failure can be had again.
settings.register_profile('all', derandomize=True, deadline=None, database=None)
settings.register_profile('quick', settings.get_profile('all'), max_examples=30)


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples where the slow tests are left out."""
    settings.load_profile('quick' if config.option.markexpr == 'not slow' else 'all')


@pytest.fixture
def run_python() -> Callable[..., subprocess.Popen[str]]:
    """Start a Python process on a script, with this package to import."""

    def run(script: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        package = Path(calib_node.__file__).parents[1]
        return subprocess.Popen(
            [sys.executable, '-c', script, *arguments],
            env={**os.environ, 'PYTHONPATH': f'{package}:{os.environ.get("PYTHONPATH", "")}'},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Path of a state file in a folder yet to be made."""
    return tmp_path / 'states' / 'calib_node.yaml'


@pytest.fixture
def folder_for_all() -> Iterator[Path]:
    """A folder that every user can enter; those of tmp_path are their owner's alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def keep(path: Path) -> Iterator[Callable[..., tuple[StateKeeper, Any]]]:
    """Make keepers of one file, each of a calibrator of its own, and stop them after the test."""
    keepers = []

    def make(updates: int = 0, node: str = NODE, **observers: Any) -> tuple[StateKeeper, Any]:
        calibrator = learned(updates)
        keepers.append(StateKeeper(calibrator, StateFile(path, node), **observers))
        return keepers[-1], calibrator

    yield make
    for keeper in keepers:
        keeper.stop()
