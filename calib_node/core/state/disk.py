# SPDX-License-Identifier: Apache-2.0
"""Files and folders as the state file needs them: sound after a power cut, closed to others."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from calib_node.core.state.document import from_yaml
from calib_node.core.state.fields import StateError

_PERMISSION = 'let the node write into its folder, or set state.file'
_ROOM = 'make room on its disk'
REMEDIES = {
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: 'set state.file to a place that can be written',
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EINVAL: 'move it away',
}
"""What helps where the system refuses to write."""


def reason(error: Exception) -> str:
    """Say in words of the system why a file could not be written, and what helps.

    Returns
    -------
    str
        A part of a sentence, with the file where the system names one.
    """
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    where = f' ({error.filename})' if error.filename else ''
    remedy = REMEDIES.get(error.errno or 0)
    return f'{error.strerror}{where}' + (f'; {remedy}' if remedy else '')


class Unreadable(StateError):
    """A file whose content is unknown, and may be sound."""


class Mark(NamedTuple):
    """What a file is known by until somebody else writes it."""

    device: int
    inode: int
    size: int
    modified: int
    """Nanoseconds."""
    digest: bytes

    @classmethod
    def of(cls, status: os.stat_result, content: bytes) -> Mark:
        """Mark a file by its status and its content.

        Returns
        -------
        Mark
            It costs one pass over the content.
        """
        digest = sha256(content).digest()
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, digest)


def find(path: Path) -> os.stat_result | None:
    """Look for a regular file.

    Returns
    -------
    os.stat_result or None
        None if there is nothing of that name.

    Raises
    ------
    OSError
        If there is something else, or it cannot be known.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not os.path.lexists(path):
            return None
    else:
        if stat.S_ISREG(status.st_mode):
            return status
    raise OSError(errno.EINVAL, 'this is no regular file', str(path))


def look_again(path: Path, status: os.stat_result, mark: Mark) -> Mark | None:
    """Compare a file with the one that was marked.

    Parameters
    ----------
    path, status : Path, os.stat_result
        The file and what `find` gave for it.
    mark : Mark
        Of the file that should be there.

    Returns
    -------
    Mark or None
        None if its content is another one.
    """
    now = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if now == mark[:4]:
        return mark
    if status.st_size != mark.size:
        return None
    try:
        found = Mark.of(status, path.read_bytes())
    except OSError:
        return None
    return found if found.digest == mark.digest else None


def read_document(path: Path) -> dict[str, Any]:
    """Read a state file by safe loading.

    Returns
    -------
    dict
        The document; nothing of it is checked.

    Raises
    ------
    FileNotFoundError
        If there is none.
    StateError
        If it cannot be read or is not a table.
    """
    return read_marked(path)[0]


def read_marked(path: Path) -> tuple[dict[str, Any], Mark]:
    """Read a state file as `read_document` does, and mark it.

    Returns
    -------
    tuple of dict and Mark
        The document, and what the file will be known by.
    """
    try:
        # A pipe would keep the reader waiting, and a device may have no end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StateError('it is no regular file')
        with open(path, 'rb') as file:
            content, status = file.read(), os.fstat(file.fileno())
    except FileNotFoundError:
        raise
    except NotADirectoryError as error:
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from None
    except OSError as error:
        raise Unreadable(f'it cannot be read: {error.strerror}') from None
    try:
        return from_yaml(content.decode()), Mark.of(status, content)
    except UnicodeDecodeError as error:
        raise StateError(f'it is not text: {error}') from None


def write_through(path: Path, content: bytes) -> Mark:
    """Write a new file that only its owner can read or write, and wait until the disk has it.

    Returns
    -------
    Mark
        What the file will be known by, under another name too.

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
            return Mark.of(os.fstat(file.fileno()), content)
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
