# SPDX-License-Identifier: Apache-2.0
"""One state file with what is kept beside it."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

from calib_node.core.state import disk
from calib_node.core.state.document import Learner, restore_document, to_yaml
from calib_node.core.state.fields import StateError


class StateFileInUse(Exception):
    """Another process holds the lock of the state file."""


def _now() -> datetime:
    return datetime.now(timezone.utc)


class StateFile:
    """One state file, its ``.bak`` and its lock.

    Parameters
    ----------
    path : Path
        Absolute path; folders are made as needed.
    node : str
        Fully qualified node name, written into the file.
    """

    def __init__(self, path: Path, node: str) -> None:
        self.path = path
        self.node = node
        self._lock: int | None = None
        self._saved: dict[str, Any] | None = None
        # Why the file in its place must not become the .bak; empty if it may.
        self._wrong = ''

    @property
    def backup(self) -> Path:
        """The file before the last save."""
        return self._beside('bak')

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(f'{self.path.name}.{suffix}')

    def lock(self) -> str:
        """Make this process the only user of the file.

        Returns
        -------
        str
            Empty, or the reason why no lock could be taken though nobody else holds it.

        Raises
        ------
        StateFileInUse
            If another process holds the lock.
        """
        # A lock on the file itself would be void once the file is renamed over.
        path = self._beside('lock')
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            disk.make_folder(self.path.parent)
            lock = os.open(path, flags, 0o600)
        except OSError as error:
            return f'{path} cannot be created: {error.strerror}'
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise StateFileInUse(
                f'the state file {self.path} is in use by another process; '
                'give each node a state.file of its own'
            ) from None
        except OSError as error:
            os.close(lock)
            return f'{path} cannot be locked: {error.strerror}'
        self._lock = lock
        return ''

    def unlock(self) -> None:
        """Let another process use the file."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def save(self, document: dict[str, Any]) -> bool:
        """Write a document, so that the file is the old one or the new one at every moment.

        Returns
        -------
        bool
            False when the file already holds the document and nothing was written.

        Raises
        ------
        OSError
            If it cannot be written; the file is then as it was.
        """
        there = os.path.lexists(self.path)
        if document == self._saved and there:
            return False
        if there and not self.path.is_file():
            # A device would be replaced by a file.
            raise OSError(errno.EINVAL, 'this is no regular file', str(self.path))
        disk.make_folder(self.path.parent)
        temporary = self._beside('tmp')
        disk.write_through(temporary, _content(document))
        if there:
            if self._wrong:
                self._set_aside(self.path, self._wrong)
            else:
                self._keep_backup()
        os.replace(temporary, self.path)
        disk.sync_folder(self.path.parent)
        self._saved, self._wrong = document, ''
        return True

    def _keep_backup(self) -> None:
        link = self._beside('bak.tmp')
        link.unlink(missing_ok=True)
        try:
            os.link(self.path, link)
        except OSError:
            # Not every file system has hard links.
            disk.write_through(link, self.path.read_bytes())
        os.replace(link, self.backup)

    def load(self, calibrator: Learner) -> dict[str, Any]:
        """Restore the calibrator from the file and return the document; move nothing.

        Raises
        ------
        FileNotFoundError, StateError
            As `read_document` and `restore_document`; the calibrator is unchanged then.
        """
        try:
            document = disk.read_document(self.path)
            restore_document(calibrator, document)
        except StateError as error:
            self._saved, self._wrong = None, _kind(error)
            raise
        self._saved = {key: document[key] for key in document if key != 'saved_at'}
        self._wrong = ''
        return document

    def recover(self, calibrator: Learner) -> tuple[dict[str, Any] | None, list[str]]:
        """Restore the calibrator at a start: from the file, else from its ``.bak``, else not.

        A bad file is set aside, never deleted.

        Returns
        -------
        document : dict or None
            What was restored.
        problems : list of str
            A sentence for each thing that was wrong.
        """
        try:
            return self.load(calibrator), []
        except FileNotFoundError:
            if not os.path.lexists(self.backup):
                return None, []
            problems = [f'the state file {self.path} is gone']
        except StateError as error:
            problems = [f'the state file {self.path} is bad: {error}']
            problems.append(self._keep_bad(self.path, error))
        try:
            document = disk.read_document(self.backup)
            restore_document(calibrator, document)
        except FileNotFoundError:
            return None, [*problems, 'there is no .bak, so learning starts anew']
        except StateError as error:
            problems += [f'its .bak is bad too: {error}', self._keep_bad(self.backup, error)]
            return None, [*problems, 'learning starts anew']
        return document, [*problems, 'the .bak before it is used']

    def _keep_bad(self, path: Path, error: StateError) -> str:
        """Move a bad file out of the way of the next save; return a sentence on it."""
        try:
            if not path.is_file():
                return 'it is no regular file and stays where it is'
            return f'it is kept as {self._set_aside(path, _kind(error))}'
        except OSError as reason:
            return f'it cannot be set aside: {reason.strerror}'

    def set_aside_for_reset(self) -> Path:
        """Move the file and its ``.bak`` away; return where the file is."""
        kept = self._set_aside(self.path, 'before-reset')
        with suppress(FileNotFoundError):
            os.rename(self.backup, kept.with_name(f'{kept.name}.bak'))
        return kept

    def keep_before_load(self, document: dict[str, Any]) -> Path:
        """Write a document that is about to be lost into a file of its own; return where it is.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        kept = _free_name(self.path, 'before-load')
        disk.write_through(kept, _content(document))
        disk.sync_folder(kept.parent)
        return kept

    def _set_aside(self, path: Path, why: str) -> Path:
        target = _free_name(path, why)
        os.rename(path, target)
        if path == self.path:
            self._saved, self._wrong = None, ''
        return target


def _content(document: dict[str, Any]) -> bytes:
    return to_yaml({**document, 'saved_at': _now().isoformat(timespec='seconds')}).encode()


def _kind(error: StateError) -> str:
    return 'unreadable' if isinstance(error, disk.Unreadable) else 'corrupt'


def _free_name(path: Path, why: str) -> Path:
    """Return a name for a file to be kept, which no file has: a clock may show a time twice."""
    name = f'{path.name}.{why}-{_now():%Y%m%dT%H%M%S%fZ}'
    names = (path.with_name(f'{name}-{number}' if number else name) for number in count())
    return next(free for free in names if not os.path.lexists(free))
