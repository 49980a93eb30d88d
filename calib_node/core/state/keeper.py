# SPDX-License-Identifier: Apache-2.0
"""Keeps a calibrator's state in its file: at the start, from time to time, at the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from typing import Any

from calib_node.core.refusal import brief
from calib_node.core.state import disk
from calib_node.core.state.document import Learner, OtherOrigin, make_document, restore_document
from calib_node.core.state.fields import StateError
from calib_node.core.state.file import StateFile
from calib_node.core.state.turns import short_turns


class NotSaved(OSError):
    """The state could not be saved; the text says why, and `on_problem` was told."""


def _tell_nobody(_: str) -> None:
    pass


class StateKeeper:
    """Saves and restores a calibrator, and tells at once what goes wrong.

    Any thread may call it, at the same time as others, as long as the calibrator does not change
    meanwhile. What was learned earlier never replaces in the file what was learned later.

    Parameters
    ----------
    calibrator : Learner
        Whose state is kept.
    file : StateFile
        Where.
    on_problem : callable
        Called with a sentence each time that a save has failed.
    on_note : callable
        Called with a sentence when saving works again, and when a file that somebody else had
        changed was kept aside.

    Attributes
    ----------
    problem : str
        The last failure in a sentence; empty again after the next success.
    failures : int
        How often a save failed.
    notes : list of str
        What is not as it should be, though nothing failed.

    Notes
    -----
    `on_problem` and `on_note` are called in the thread that saves, for an autosave one of the
    keeper's own, while others wait to save: they should be quick, and neither raise nor call the
    keeper. A failure that lasts is told at each save; not to repeat it too often is up to them.
    """

    def __init__(
        self,
        calibrator: Learner,
        file: StateFile,
        on_problem: Callable[[str], None] = _tell_nobody,
        on_note: Callable[[str], None] = _tell_nobody,
    ) -> None:
        self._calibrator = calibrator
        self.file = file
        self.problem = ''
        self.failures = 0
        self.notes: list[str] = []
        self._on_problem = on_problem
        self._on_note = on_note
        self._failed_since_success = 0
        # The disk may take its time, and predictions must not wait for it.
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix='state')
        self._writing: Future[None] | None = None
        self._making, self._ending = threading.Lock(), threading.Lock()
        self._disk = threading.RLock()
        self._made = self._written = 0
        self._started = self._stopped = False

    def start(self) -> str:
        """Lock the file and restore from it.

        Returns
        -------
        str
            A sentence on what was found; `problem` says what was wrong with it.

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
        self._started = True
        if document is None:
            found = f'nothing learned yet; the state will be saved to {self.file.path}'
        else:
            found = f'going on from {self._calibrator.updates} updates saved in {self.file.path}'
            saver = document.get('node')
            if saver != self.file.node:
                self.notes.append(f'the state file was saved by another node, {brief(saver)}')
        return '; '.join([found, *self._take_notes()])

    def save(self) -> bool:
        """Save now.

        Returns
        -------
        bool
            Whether anything was written; if not, the file holds the state already.

        Raises
        ------
        NotSaved
            If it cannot be saved; `problem` says so too.
        """
        return self._write(*self._make())

    def save_in_background(self) -> None:
        """Save what is learned by now without waiting for the disk."""
        if self._stopped or (self._writing is not None and not self._writing.done()):
            return
        made = self._make()
        # It may be stopped just now.
        with suppress(RuntimeError):
            self._writing = self._writer.submit(self._try_to_write, *made)

    def load(self) -> str:
        """Restore from the file again; what it does not hold is kept beside it first.

        Returns
        -------
        str
            A sentence on it and on what was learned before.

        Raises
        ------
        StateError, OSError
            If there is no sound state, or what was learned cannot be kept; nothing has changed
            then.
        """
        calibrator, node = self._calibrator, self.file.node
        with self._disk:
            learned = make_document(calibrator, node)
            trial = deepcopy(calibrator)
            document = self._load(trial)
            kept = ''
            if calibrator.updates and make_document(trial, node) != learned:
                try:
                    before = self.file.keep_before_load(learned)
                except OSError as error:
                    sentence = 'nothing is loaded, as what was learned cannot be kept'
                    raise OSError(f'{sentence}: {disk.reason(error)}') from None
                kept = f'; what was learned before is kept as {before}'
            restore_document(calibrator, document)
            self._written = self._made
        return f'loaded {calibrator.updates} updates from {self.file.path}{kept}'

    def _load(self, trial: Learner) -> dict[str, Any]:
        path = self.file.path
        try:
            return self.file.load(trial)
        except FileNotFoundError:
            raise StateError(f'nothing is loaded: nothing was saved to {path} yet') from None
        except OtherOrigin as other:
            raise StateError(
                f'nothing is loaded: the state file {path} holds what {other.origin} has learned; '
                'start the node with that method and number of classes to use it'
            ) from None
        except StateError as error:
            raise StateError(
                f'nothing is loaded: the state file {path} is bad: {error}; '
                'the next save keeps it beside and writes a sound one'
            ) from None

    def reset(self, forget: Callable[[], None]) -> str:
        """Save, move the file away, call `forget`, save what is left.

        Returns
        -------
        str
            A sentence that says where the state before it is.

        Raises
        ------
        OSError
            If what is learned cannot be saved and moved away, and then nothing is forgotten; or
            if the new start cannot be saved.
        """
        with self._disk:
            self.save()
            kept = self.file.set_aside_for_reset()
            forget()
            self._written = self._made
            sentence = f'learning starts anew; the state before it is {kept}'
            try:
                self.save()
            except NotSaved:
                raise NotSaved(f'{sentence}; but {self.problem}') from None
        return sentence

    def stop(self) -> str:
        """Save for the last time and let another process use the file; once, however often called.

        Returns
        -------
        str
            A sentence on where it was saved; empty if it could not be, which `on_problem` is told,
            if it was stopped before, or if it never started, when the file is somebody else's.
        """
        with self._ending:
            if self._stopped:
                return ''
            saved = ''
            if self._started:
                with suppress(NotSaved):
                    self.save()
                    saved = f'saved to {self.file.path}'
            with self._disk:
                self._stopped = True
            self._writer.shutdown()
            self.file.unlock()
        return saved

    def _make(self) -> tuple[int, dict[str, Any]]:
        """Return the document of what is learned by now, and which one of all it is."""
        with self._making:
            self._made += 1
            return self._made, make_document(self._calibrator, self.file.node)

    def _try_to_write(self, number: int, document: dict[str, Any]) -> None:
        with suppress(NotSaved), short_turns:
            self._write(number, document)

    def _write(self, number: int, document: dict[str, Any]) -> bool:
        with self._disk:
            if number <= self._written:
                return False
            if self._stopped:
                raise NotSaved(f'the state is saved to {self.file.path} no more; it was at the end')
            try:
                written = self.file.save(document)
            except Exception as error:
                # The disk or the memory may be full; whatever it is, the next save is tried again.
                self._tell_failure(error)
                raise NotSaved(self.problem) from error
            finally:
                for note in self._take_notes():
                    self._on_note(note)
            self._written = number
            self._tell_success()
            return written

    def _tell_failure(self, error: Exception) -> None:
        self.failures += 1
        self._failed_since_success += 1
        self.problem = f'the state cannot be saved to {self.file.path}: {disk.reason(error)}'
        self._on_problem(self.problem)

    def _tell_success(self) -> None:
        failed, self._failed_since_success = self._failed_since_success, 0
        self.problem = ''
        if failed:
            saves = '1 save' if failed == 1 else f'{failed} saves'
            self._on_note(f'the state is saved to {self.file.path} again, after {saves} failed')

    def _take_notes(self) -> list[str]:
        notes = list(self.file.notes)
        self.file.notes.clear()
        return notes
