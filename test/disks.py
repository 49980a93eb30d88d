# SPDX-License-Identifier: Apache-2.0
"""A disk that is soon full, and one that keeps nobody waiting."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

MEMORY = Path('/dev/shm')
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
PRIVATE, ALL_BELOW = 1 << 18, 1 << 14


def mount_small_disk(folder: Path, size: int = 65536) -> None:
    """Mount an empty file system of `size` bytes, for this process and its children alone.

    It is for ``preexec_fn``: where the system does not allow it, it raises an OSError there, which
    `subprocess` tells as a SubprocessError.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments) != 0:
            raise OSError(ctypes.get_errno(), f'{name} failed')

    user, group = os.geteuid(), os.getegid()
    try:
        call('unshare', NEW_MOUNTS)
    except OSError:
        # A user may do this in a user namespace, where the system lets them make one.
        call('unshare', NEW_USER | NEW_MOUNTS)
        Path('/proc/self/setgroups').write_text('deny')
        Path('/proc/self/uid_map').write_text(f'{user} {user} 1')
        Path('/proc/self/gid_map').write_text(f'{group} {group} 1')
    call('mount', None, b'/', None, PRIVATE | ALL_BELOW, None)
    call('mount', b'none', os.fsencode(folder), b'tmpfs', 0, f'size={size}'.encode())


def fill(folder: Path) -> Path:
    """Write into a folder until its disk is full; return the file that takes the room."""
    ballast = folder / 'ballast'
    with open(ballast, 'wb', buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            return ballast


@contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """Make a folder that is on no disk, or one below `otherwise` where that cannot be."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else otherwise
    with TemporaryDirectory(dir=place) as name:
        yield Path(name)
