# SPDX-License-Identifier: Apache-2.0
"""Five hundred processes are killed while they learn and save: the file is sound, and not old."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import kill_loop
import pytest
from disks import folder_in_memory

import calib_node

KILLS = 500
PERIOD = kill_loop.PERIOD


def start(folder: Path, seed: int) -> subprocess.Popen[str]:
    package = str(Path(calib_node.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, kill_loop.__file__, str(folder), str(KILLS // 2), str(seed)],
        env={**os.environ, 'PYTHONPATH': package},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_at_any_moment_with_autosave_at_full_load(tmp_path: Path):
    """Two loops kill at once, on a disk and without; each checks its file to the last bit."""
    with folder_in_memory(tmp_path) as memory:
        loops = [start(tmp_path, 1), start(memory, 2)]
        try:
            outputs = [loop.communicate(timeout=240) for loop in loops]
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
    assert [errors for _, errors in outputs] == ['', '']
    on_disk, without = (json.loads(output) for output, _ in outputs)
    lives = on_disk + without
    assert len(lives) == KILLS
    for life in without:
        # The second is next to nothing on a machine that does nothing else.
        assert life['age'] <= 2 * PERIOD + life['without processor'], life
    for life in on_disk:
        assert life['age'] <= 2 * PERIOD + life['without processor'] + life['longest save'], life
    # Else it would say little.
    assert sum(life['length'] > 2 * PERIOD for life in lives) > KILLS / 5
    assert sum(life['in writing'] for life in lives) > KILLS / 100
    assert sum(life['learned'] for life in lives) > 100 * KILLS
