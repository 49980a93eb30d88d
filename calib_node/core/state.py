# SPDX-License-Identifier: Apache-2.0
"""The state file: written so that a power cut never costs what was learned, read with suspicion.

The only module of the core that reads or writes files. It calls nothing of ROS.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from calib_node.core.calibrators import Learner, StateError
from calib_node.core.limits import brief

FORMAT = 'calib_node/state'
VERSION = 1

# The same text and the same values, several times as fast where PyYAML was built with libyaml: a
# method that keeps a window of samples has thousands of numbers to save.
SAFE_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
SAFE_DUMPER = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


class StateFileInUse(Exception):
    """Another process holds the lock of the state file."""


def make_document(calibrator: Learner, node: str) -> dict[str, Any]:
    """Return what the state file holds, but for the time of saving."""
    return {
        'format': FORMAT,
        'version': VERSION,
        'method': calibrator.name,
        'node': node,
        **calibrator.state(),
    }


def restore_document(calibrator: Learner, document: dict[str, Any]) -> None:
    """Check a document read from a file and let the calibrator take it over.

    Raises
    ------
    StateError
        If it is not a sound state of the calibrator's method; the calibrator is unchanged then.
    """
    if document.get('format') != FORMAT:
        raise StateError(f'format is {brief(document.get("format"))} instead of {FORMAT!r}')
    version = document.get('version')
    if version != VERSION or isinstance(version, bool):
        raise StateError(f'version is {brief(version)}, and this release reads version {VERSION}')
    if document.get('method') != calibrator.name:
        raise StateError(
            f'it was saved by method {brief(document.get("method"))}, not by {calibrator.name!r}'
        )
    classes, own = document.get('classes', 1), getattr(calibrator, 'classes', 1)
    if classes != own:
        raise StateError(f'it was saved with classes {brief(classes)}, not with {own}')
    calibrator.restore(document)


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
        text = path.read_text(encoding='utf-8')
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise StateError(f'it cannot be read: {error}') from None
    try:
        document = yaml.load(text, Loader=SAFE_LOADER)
    except Exception as error:
        # Beside YAMLError the loader lets through whatever a bad value raises in Python.
        raise StateError(f'it is not YAML: {" ".join(str(error).split())}') from None
    if not isinstance(document, dict):
        raise StateError('it is not a table of fields')
    return document


def _to_yaml(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=SAFE_DUMPER, sort_keys=False, default_flow_style=None)
    return text


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
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        if document == self._saved and self.path.exists():
            return False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        saved_at = _now().isoformat(timespec='seconds')
        text = _to_yaml({**document, 'saved_at': saved_at})
        temporary = self._beside('tmp')
        _write_through(temporary, text)
        if self.path.exists():
            self._keep_backup()
        os.replace(temporary, self.path)
        _sync_folder(self.path.parent)
        self._saved = document
        return True

    def _keep_backup(self) -> None:
        link = self._beside('bak.tmp')
        link.unlink(missing_ok=True)
        try:
            os.link(self.path, link)
        except OSError:
            # Not every file system has hard links.
            shutil.copy(self.path, link)
        os.replace(link, self.backup)

    def load(self, calibrator: Learner) -> dict[str, Any]:
        """Restore the calibrator from the file and return the document; move nothing.

        Raises
        ------
        FileNotFoundError, StateError
            As `read_document` and `restore_document`; the calibrator is unchanged then.
        """
        document = read_document(self.path)
        restore_document(calibrator, document)
        self._saved = {key: document[key] for key in document if key != 'saved_at'}
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
            if not self.backup.exists():
                return None, []
            problems = [f'the state file {self.path} is gone']
        except StateError as error:
            problems = [f'the state file {self.path} is bad: {error}', self._keep_bad_file()]
        try:
            document = read_document(self.backup)
            restore_document(calibrator, document)
        except FileNotFoundError:
            return None, [*problems, 'there is no .bak, so learning starts anew']
        except StateError as error:
            return None, [*problems, f'its .bak is bad too: {error}; learning starts anew']
        return document, [*problems, 'the .bak before it is used']

    def _keep_bad_file(self) -> str:
        if not self.path.is_file():
            return 'it is no regular file and stays where it is'
        try:
            return f'it is kept as {self._set_aside("corrupt")}'
        except OSError as error:
            return f'it cannot be set aside: {error.strerror}'

    def set_aside_for_reset(self) -> Path:
        """Move the file and its ``.bak`` away; return where the file is."""
        kept = self._set_aside('before-reset')
        with suppress(FileNotFoundError):
            os.rename(self.backup, kept.with_name(f'{kept.name}.bak'))
        return kept

    def _set_aside(self, why: str) -> Path:
        target = self._beside(f'{why}-{_now():%Y%m%dT%H%M%S%fZ}')
        os.rename(self.path, target)
        self._saved = None
        return target


def _write_through(path: Path, text: str) -> None:
    """Write a file only its owner can read, and wait until the disk has it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o600), 'w', encoding='utf-8') as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's entries, so that a rename survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
