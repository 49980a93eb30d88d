# SPDX-License-Identifier: Apache-2.0
"""Files and folders as the state file needs them: sound after a power cut, closed to others."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from calib_node.core.state.document import from_yaml
from calib_node.core.state.fields import StateError


class Unreadable(StateError):
    """A file whose content is unknown, and may be sound."""


def read_document(path: Path) -> dict[str, Any]:
    """Read a state file by safe loading.

    Raises
    ------
    FileNotFoundError
        If there is none.
    StateError
        If it cannot be read or is not a table.
    """
    try:
        # A pipe would keep the reader waiting, and a device may have no end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StateError('it is no regular file')
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except NotADirectoryError as error:
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from None
    except OSError as error:
        raise Unreadable(f'it cannot be read: {error.strerror}') from None
    try:
        return from_yaml(content.decode())
    except UnicodeDecodeError as error:
        raise StateError(f'it is not text: {error}') from None


def write_through(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read or write, and wait until the disk has it.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left of it then.
    """
    # A file that is there, whoever made it, may be open to others.
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        with open(descriptor, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        # Where a disk is full it takes room that others need.
        with suppress(OSError):
            path.unlink()
        raise


def make_folder(folder: Path) -> None:
    """Make a folder and those above it as the umask says, but never for everyone to write in."""
    try:
        folder.mkdir(mode=0o775, exist_ok=True)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(mode=0o775, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's entries, so that a rename survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
