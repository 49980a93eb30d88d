# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
collect_ignore = ['interfaces']
SHARED_DATA = ROOT.parent / 'shared' / 'data'


@pytest.fixture
def import_benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a module of the benchmarks, which are scripts and no package."""
    monkeypatch.syspath_prepend(str(ROOT / 'benchmarks'))
    return importlib.import_module


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """Path of a measured data set by name; it is not part of the project, so it may be absent."""

    def locate(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.is_file():
            pytest.skip(f'the reference data ../shared/data/{name} is not here')
        return path

    return locate
