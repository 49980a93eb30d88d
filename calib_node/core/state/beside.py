# SPDX-License-Identifier: Apache-2.0
"""What is kept beside a state file, each kind under a name that says what it is."""

from __future__ import annotations

import errno
import filecmp
import os
from contextlib import suppress
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

from calib_node.core.state import disk
from calib_node.core.state.document import Origin


def now() -> datetime:
    """Return the time.

    Returns
    -------
    datetime
        UTC.
    """
    return datetime.now(timezone.utc)


def beside(path: Path, suffix: str) -> Path:
    """Name a file beside another one.

    Returns
    -------
    Path
        In the same folder, the suffix behind the whole name.
    """
    return path.with_name(f'{path.name}.{suffix}')


def backup_of(path: Path) -> Path:
    """Name the file before the last save of a state file.

    Returns
    -------
    Path
        Whether it is there or not.
    """
    return beside(path, 'bak')


def free_name(path: Path, why: str) -> Path:
    """Name a file to be kept as no file is named: a clock may show a time twice.

    Returns
    -------
    Path
        Beside `path`, with the reason and the time.
    """
    name = f'{path.name}.{why}-{now():%Y%m%dT%H%M%S%fZ}'
    names = (path.with_name(f'{name}-{number}' if number else name) for number in count())
    return next(free for free in names if not os.path.lexists(free))


def set_aside(path: Path, why: str) -> Path:
    """Move a file to a free name.

    Returns
    -------
    Path
        Where it is.
    """
    target = free_name(path, why)
    os.rename(path, target)
    return target


def leave_for(origin: Origin, state: Path, path: Path) -> Path:
    """Move a state to where it is found when a node with its method is started.

    Parameters
    ----------
    origin : Origin
        Of the state.
    state : Path
        The state file itself or its ``.bak``.
    path : Path
        The state file.

    Returns
    -------
    Path
        Where it is.
    """
    target = beside(path, origin.suffix)
    if state != path:
        target = backup_of(target)
    if os.path.lexists(target):
        set_aside(target, 'older')
    os.rename(state, target)
    return target


def take_back(kept: Path, path: Path) -> None:
    """Move what waited for its method into the place of the state file, its ``.bak`` first.

    After a power cut between the two the newer one waits still.

    Raises
    ------
    OSError
        If it cannot be moved, or something is in that place.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if not os.path.lexists(backup_of(path)):
        with suppress(FileNotFoundError):
            os.rename(backup_of(kept), backup_of(path))
    with suppress(FileNotFoundError):
        os.rename(kept, path)


def keep_backup(path: Path) -> None:
    """Make the state file the ``.bak`` as well, so that it is absent at no moment."""
    link = beside(path, 'bak.tmp')
    link.unlink(missing_ok=True)
    try:
        os.link(path, link)
    except OSError:
        # Not every file system has hard links.
        disk.write_through(link, path.read_bytes())
    os.replace(link, backup_of(path))


def same_content(one: Path, other: Path | None) -> bool:
    """Compare two files.

    Returns
    -------
    bool
        False as well if one of them cannot be read.
    """
    try:
        return other is not None and filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
