# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / 'shared' / 'data'


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """Path of a measured data set by name; it is not part of the project, so it may be absent."""

    def locate(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.is_file():
            pytest.skip(f'the reference data ../shared/data/{name} is not here')
        return path

    return locate
