# SPDX-License-Identifier: Apache-2.0
"""Keeps a calibrator's state in its file: at the start, from time to time, at the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from calib_node.core.calibrators.base import Learner
from calib_node.core.state import StateFile, make_document


class StateKeeper:
    """Saves and restores a calibrator, and remembers what went wrong.

    Parameters
    ----------
    calibrator : Learner
        Whose state is kept.
    file : StateFile
        Where.

    Attributes
    ----------
    problem : str
        The last failure in a sentence; empty again after the next success.
    failures : int
        How often a save failed.
    notes : list of str
        What is not as it should be, though nothing failed.
    """

    def __init__(self, calibrator: Learner, file: StateFile) -> None:
        self._calibrator = calibrator
        self.file = file
        self.problem = ''
        self.failures = 0
        self.notes: list[str] = []
        # The disk may take its time, and predictions must not wait for it.
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix='state')
        self._writing: Future[None] | None = None

    def start(self) -> str:
        """Lock the file and restore from it; return a sentence on what was found.

        Raises
        ------
        StateFileInUse
            If another process uses the file.
        """
        unlocked = self.file.lock()
        if unlocked:
            self.notes.append(f'running without a lock on the state file: {unlocked}')
        document, problems = self.file.recover(self._calibrator)
        self.problem = '; '.join(problems)
        if document is None:
            return f'nothing learned yet; the state will be saved to {self.file.path}'
        saver = document.get('node')
        if saver != self.file.node:
            self.notes.append(f'the state file was saved by another node, {saver}')
        return f'going on from {self._calibrator.updates} updates saved in {self.file.path}'

    def save(self) -> bool:
        """Save now; return whether anything was written.

        Raises
        ------
        OSError
            If it cannot be saved; `problem` says so too.
        """
        self._wait()
        return self._write(make_document(self._calibrator, self.file.node))

    def save_in_background(self) -> None:
        """Save what is learned by now without waiting for the disk; failures go to `problem`."""
        if self._writing is not None and not self._writing.done():
            return
        document = make_document(self._calibrator, self.file.node)
        self._writing = self._writer.submit(self._try_to_write, document)

    def load(self) -> None:
        """Restore from the file again.

        Raises
        ------
        FileNotFoundError, StateError
            If there is no sound state; nothing has changed then.
        """
        self._wait()
        self.file.load(self._calibrator)

    def reset(self, forget: Callable[[], None]) -> str:
        """Save, move the file away, call `forget`, save what is left; return a sentence.

        Raises
        ------
        OSError
            If what is learned cannot be saved and moved away, and then nothing is forgotten; or
            if the new start cannot be saved.
        """
        self.save()
        kept = self.file.set_aside_for_reset()
        forget()
        self.save()
        return f'learning starts anew; the state before it is {kept}'

    def close(self) -> None:
        """Wait for the disk and let another process use the file."""
        self._wait()
        self._writer.shutdown()
        self.file.unlock()

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _try_to_write(self, document: dict[str, object]) -> None:
        with suppress(OSError):
            self._write(document)

    def _write(self, document: dict[str, object]) -> bool:
        try:
            written = self.file.save(document)
        except OSError as error:
            self.failures += 1
            self.problem = f'the state cannot be saved to {self.file.path}: {error}'
            raise
        if written:
            self.problem = ''
        return written
