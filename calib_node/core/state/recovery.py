# SPDX-License-Identifier: Apache-2.0
"""The start where the state file is gone, bad or of another method."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from calib_node.core.state import beside, disk
from calib_node.core.state.document import (
    Learner,
    OtherOrigin,
    origin_of,
    restore_document,
    saved_origin,
)
from calib_node.core.state.fields import StateError


class Recovery:
    """Restores a calibrator from what is beside its state file, and clears the file's place.

    A power cut at any moment leaves every state where the next start, with any method, finds it.

    Parameters
    ----------
    path : Path
        The state file.
    calibrator : Learner
        To be restored.

    Attributes
    ----------
    problems, notes : list of str
        A sentence for each thing that was wrong, and for each that was not and is kept aside.
    mark : Mark or None
        Of what is in the file's place now, where the calibrator was restored from it.
    """

    def __init__(self, path: Path, calibrator: Learner) -> None:
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.mark: disk.Mark | None = None
        self._calibrator = calibrator
        self._backup = beside.backup_of(path)
        self._waiting = beside.beside(path, origin_of(calibrator).suffix)
        # What could not be moved, and must be before anything is written over it.
        self._to_move: list[tuple[Path, StateError]] = []
        self._to_take_back = False

    def run(self, reason: StateError | FileNotFoundError) -> dict[str, Any] | None:
        """Restore from the newest that is sound.

        Parameters
        ----------
        reason : StateError or FileNotFoundError
            Why the state file itself could not be used.

        Returns
        -------
        dict or None
            What was restored.
        """
        places = [self._waiting, self._backup]
        anew = 'learning starts anew'
        if isinstance(reason, StateError) and not isinstance(reason, OtherOrigin):
            places.reverse()
            if not os.path.lexists(self._backup):
                anew = f'there is no .bak, so {anew}'
        if isinstance(reason, StateError):
            self._clear(self.path, reason)
        self._clear_backup_of_others()
        document = None
        for place in (*places, beside.backup_of(self._waiting)):
            document = self._try(place, lost=isinstance(reason, FileNotFoundError))
            if document is not None:
                break
        else:
            self.problems += [anew] * bool(self.problems)
        with suppress(OSError):
            disk.sync_folder(self.path.parent)
        return document

    def finish(self) -> bool:
        """Do what could not be done at the start, before anything is written over.

        Returns
        -------
        bool
            Whether there is now in the file's place what the calibrator was restored from.

        Raises
        ------
        OSError
            If it still cannot be done.
        """
        while self._to_move:
            with suppress(FileNotFoundError):
                self._move(*self._to_move[0])
            del self._to_move[0]
        if not self._to_take_back:
            return False
        beside.take_back(self._waiting, self.path)
        self._to_take_back = False
        return os.path.lexists(self.path)

    def _try(self, place: Path, lost: bool) -> dict[str, Any] | None:
        try:
            document, mark = disk.read_marked(place)
            restore_document(self._calibrator, document)
        except (FileNotFoundError, OtherOrigin):
            return None
        except StateError as error:
            self._tell_if_gone(place, lost)
            self._clear(place, error)
            return None
        self._tell_if_gone(place, lost)
        if place == self._waiting:
            self.problems += [f'{place} is used'] * bool(self.problems)
        elif self.problems:
            self.problems.append('the .bak before it is used')
        else:
            only = f'of {origin_of(self._calibrator)} only {place} is left'
            self.problems.append(f'{only}, and it is used')
        if place == self._backup:
            return document
        try:
            beside.take_back(self._waiting, self.path)
        except OSError:
            self._to_take_back = True
        else:
            self.mark = mark if place == self._waiting else None
        return document

    def _tell_if_gone(self, place: Path, lost: bool) -> None:
        if lost and place == self._backup and not self.problems:
            self.problems.append(f'the state file {self.path} is gone')

    def _clear(self, state: Path, error: StateError) -> None:
        """Move what cannot be used out of the way of the next save, and tell."""
        other = error.origin if isinstance(error, OtherOrigin) else None
        if other is None:
            bad = (
                'its .bak is bad too' if state == self._backup else f'the state file {state} is bad'
            )
            self.problems.append(f'{bad}: {error}')
        try:
            if not state.is_file():
                self.problems.append('it is no regular file and stays where it is')
                return
            target = self._move(state, error)
        except OSError as reason:
            self._to_move.append((state, error))
            what = f'what {other} has learned is in {state}, and it' if other else 'it'
            self.problems.append(f'{what} cannot be set aside: {reason.strerror}')
            return
        if other is None:
            self.problems.append(f'it is kept as {target}')

    def _clear_backup_of_others(self) -> None:
        try:
            origin = saved_origin(disk.read_document(self._backup))
        except (FileNotFoundError, StateError):
            return
        if origin not in (None, origin_of(self._calibrator)):
            self._clear(self._backup, OtherOrigin('', origin))

    def _move(self, state: Path, error: StateError) -> Path:
        if not isinstance(error, OtherOrigin):
            why = 'unreadable' if isinstance(error, disk.Unreadable) else 'corrupt'
            return beside.set_aside(state, why)
        target = beside.leave_for(error.origin, state, self.path)
        if state == self.path:
            self.notes.append(
                f'what {error.origin} has learned is kept as {target} '
                'until the node is started with it again'
            )
        return target
