# SPDX-License-Identifier: Apache-2.0
"""Keeps a calibrator's state in its file: at the start, from time to time, at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from copy import deepcopy

from calib_node.core.refusal import brief
from calib_node.core.state.document import Learner, make_document, restore_document
from calib_node.core.state.file import StateFile

TURN = 0.001
"""Seconds that the interpreter's other threads may keep a save waiting at each step of it."""


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
            self.notes.append(f'the state file was saved by another node, {brief(saver)}')
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

    def load(self) -> str:
        """Restore from the file again; return a sentence on it and on what was learned before.

        What the file does not hold is kept beside it first.

        Raises
        ------
        StateError, OSError
            If there is no sound state, or what was learned cannot be kept; nothing has changed
            then.
        """
        self._wait()
        calibrator, node = self._calibrator, self.file.node
        learned = make_document(calibrator, node)
        trial = deepcopy(calibrator)
        document = self.file.load(trial)
        kept = ''
        if calibrator.updates and make_document(trial, node) != learned:
            try:
                before = self.file.keep_before_load(learned)
            except OSError as error:
                sentence = f'nothing is loaded, as what was learned cannot be kept: {error}'
                raise OSError(sentence) from None
            kept = f'; what was learned before is kept as {before}'
        restore_document(calibrator, document)
        return f'loaded {calibrator.updates} updates from {self.file.path}{kept}'

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
        sentence = f'learning starts anew; the state before it is {kept}'
        try:
            self.save()
        except OSError:
            raise OSError(f'{sentence}; but {self.problem}') from None
        return sentence

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
        with suppress(OSError), _short_turns():
            self._write(document)

    def _write(self, document: dict[str, object]) -> bool:
        try:
            written = self.file.save(document)
        except Exception as error:
            # The disk or the memory may be full; whatever it is, the next save is tried again.
            self.failures += 1
            self.problem = f'the state cannot be saved to {self.file.path}: {error}'
            if isinstance(error, OSError):
                raise
            raise OSError(self.problem) from error
        self.problem = ''
        return written


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let a thread that often waits for the disk take its turn beside one that never waits.

    It gives up the interpreter some twenty times a save, and to get it back takes 5 ms each by
    default: a save beside a busy thread would last longer than a short autosave period.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
