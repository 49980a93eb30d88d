# SPDX-License-Identifier: Apache-2.0
"""One state file with what is kept beside it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from calib_node.core.state import beside, disk
from calib_node.core.state.document import Learner, restore_document, to_yaml
from calib_node.core.state.fields import StateError
from calib_node.core.state.recovery import Recovery


class StateFileInUse(Exception):
    """Another process holds the lock of the state file."""


class StateFile:
    """One state file, its ``.bak``, its lock and what is kept beside it.

    Parameters
    ----------
    path : Path
        Absolute path; folders are made as needed.
    node : str
        Fully qualified node name, written into the file.

    Attributes
    ----------
    notes : list of str
        A sentence for each thing that was kept aside though nothing was wrong with it.
    saved_at : str
        When what the file holds was saved, in UTC; empty where nothing was.
    """

    def __init__(self, path: Path, node: str) -> None:
        self.path = path
        self.node = node
        self.notes: list[str] = []
        self.saved_at = ''
        self._lock: int | None = None
        self._saved: dict[str, Any] | None = None
        # Of the file as it was written or read last, to see what others make of it.
        self._mark: disk.Mark | None = None
        self._replaced: Path | None = None
        self._recovery: Recovery | None = None

    @property
    def backup(self) -> Path:
        """The file before the last save."""
        return beside.backup_of(self.path)

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
        path = beside.beside(self.path, 'lock')
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
                f'the state file {self.path} is in use by another node; '
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

        A file that is not as this object wrote or read it last is kept, as
        ``.replaced-<time>``.

        Returns
        -------
        bool
            False when the file on the disk holds the document and nothing was written.

        Raises
        ------
        OSError
            If it cannot be written; the file is then as it was.
        """
        there = disk.find(self.path)
        mark = disk.look_again(self.path, there, self._mark) if there and self._mark else None
        if mark and document == self._saved:
            self._mark = mark
            return False
        disk.make_folder(self.path.parent)
        temporary = beside.beside(self.path, 'tmp')
        saved_at = beside.now().isoformat(timespec='seconds')
        new = disk.write_through(temporary, _content(document, saved_at))
        taken_back = self._recovery is not None and self._recovery.finish()
        if mark or taken_back:
            beside.keep_backup(self.path)
        elif os.path.lexists(self.path):
            self._keep_replaced()
        os.replace(temporary, self.path)
        # From here on it is ours, though it counts as saved only when the folder is on the disk.
        self._mark, self._saved, self.saved_at = new, None, saved_at
        disk.sync_folder(self.path.parent)
        self._saved, self._recovery = document, None
        return True

    def _keep_replaced(self) -> None:
        # What restores one content again and again must not fill the disk.
        if not beside.same_content(self.path, self._replaced):
            self._replaced = beside.set_aside(self.path, 'replaced')
            self.notes.append(
                f'the state file {self.path} was changed by somebody else; '
                f'what was there is kept as {self._replaced}'
            )

    def load(self, calibrator: Learner) -> dict[str, Any]:
        """Restore the calibrator from the file; move nothing.

        Returns
        -------
        dict
            The document that was restored.

        Raises
        ------
        FileNotFoundError, StateError
            As `read_document` and `restore_document`; the calibrator is unchanged then.
        """
        document, mark = disk.read_marked(self.path)
        restore_document(calibrator, document)
        self._saved, self._mark = _without_time(document), mark
        self.saved_at = str(document.get('saved_at', ''))
        return document

    def recover(self, calibrator: Learner) -> tuple[dict[str, Any] | None, list[str]]:
        """Restore the calibrator at a start: from the file, or else from what is beside it.

        A bad file is set aside, never deleted. One of another method waits beside under that
        method's name, and what waited for this one takes its place.

        Returns
        -------
        document : dict or None
            What was restored.
        problems : list of str
            A sentence for each thing that was wrong.
        """
        try:
            return self.load(calibrator), []
        except (FileNotFoundError, StateError) as reason:
            recovery = Recovery(self.path, calibrator)
            document = recovery.run(reason)
        self._recovery, self.notes = recovery, recovery.notes
        if document is not None and recovery.mark is not None:
            self._saved, self._mark = _without_time(document), recovery.mark
            self.saved_at = str(document.get('saved_at', ''))
        return document, recovery.problems

    def set_aside_for_reset(self) -> Path:
        """Move the file and its ``.bak`` away.

        Returns
        -------
        Path
            Where the file is.
        """
        kept = beside.set_aside(self.path, 'before-reset')
        with suppress(FileNotFoundError):
            os.rename(self.backup, beside.backup_of(kept))
        return kept

    def keep_before_load(self, document: dict[str, Any]) -> Path:
        """Write a document that is about to be lost into a file of its own.

        Returns
        -------
        Path
            Where it is.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        kept = beside.free_name(self.path, 'before-load')
        disk.write_through(kept, _content(document, beside.now().isoformat(timespec='seconds')))
        disk.sync_folder(kept.parent)
        return kept


def _without_time(document: dict[str, Any]) -> dict[str, Any]:
    return {key: document[key] for key in document if key != 'saved_at'}


def _content(document: dict[str, Any], saved_at: str) -> bytes:
    return to_yaml({**document, 'saved_at': saved_at}).encode()
