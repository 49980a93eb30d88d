# SPDX-License-Identifier: Apache-2.0
"""File permissions that hold for root too."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest


def obey_permissions() -> None:
    """Make root obey the permissions of files from the next program on; for ``preexec_fn``."""
    drop_from_bounding_set = 24
    for override in (1, 2):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, override, 0, 0, 0)


def skip_where_they_do_not_hold(locked: Path) -> None:
    """Skip the test if a process that obeys permissions can write into a folder it may not."""
    touch = subprocess.run(
        ['touch', str(locked / 'x')], preexec_fn=obey_permissions, capture_output=True, check=False
    )
    if touch.returncode == 0:
        pytest.skip('this user can write anywhere, and root cannot be made to obey permissions')
