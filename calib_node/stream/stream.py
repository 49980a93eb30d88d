# SPDX-License-Identifier: Apache-2.0
"""One classifier's stream: messages in, corrected messages out, what is learned kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from calib_node.core.calibrators import Learner
from calib_node.core.pipeline import Pipeline
from calib_node.core.state.fields import StateError
from calib_node.core.state.file import StateFile
from calib_node.core.state.keeper import StateKeeper
from calib_node.core.state.path import resolve_path
from calib_node.stream.assembly import (
    change_pipeline,
    check_change,
    make_label_reader,
    make_pipeline,
)
from calib_node.stream.definitions import Messages
from calib_node.stream.figures import context_figures, figures_of
from calib_node.stream.inputs import Tell, make_inputs
from calib_node.stream.judgement import beyond_clip, judged, noted
from calib_node.stream.kept import Kept
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level, Status
from calib_node.stream.watch import Watch

SAVE = 'save'
"""The kind of what is told of a save."""


class Stream:
    """Calibrates the predictions of one classifier, message by message.

    It knows no node, no clock and no logger. Messages come in the order in which they are learned.

    Parameters
    ----------
    settings : Settings
        The parameters.
    messages : Messages
        The message types there are.
    tell : callable
        Told at once of what an operator should know.

    Attributes
    ----------
    prediction, label : Codec, FrameCodec or LabelFrameCodec
        How the messages of the inputs are read.
    on_prediction, on_label : callable
        Take a message in, as in `Inputs`.
    pipeline : Pipeline
        What is learned and scored; `pipeline.on_match` is for who wants to see each match.
    watch : Watch
        Raises an alarm once what is published has ceased to be honest.
    kept : Kept
        What is kept in a state file.
    keeper : StateKeeper or None
        Keeps it there.

    Raises
    ------
    ValueError
        If the parameters do not go together or with the message types.
    """

    def __init__(self, settings: Settings, messages: Messages, tell: Tell) -> None:
        self.settings = settings
        self.tell = tell
        self.pipeline = make_pipeline(settings)
        self.keeper: StateKeeper | None = None
        self.reader = make_label_reader(settings)
        self._inputs = make_inputs(messages, settings, self.pipeline, self.reader, tell)
        self.prediction, self.label = self._inputs.prediction, self._inputs.label
        # Without the price of a call on the way.
        self.on_prediction = self._inputs.on_prediction
        self.on_label = self._inputs.on_label
        self.pipeline.on_error = self._tell_error
        self.watch = Watch(settings)
        self.pipeline.on_match.append(self.watch)
        self.kept = Kept(self.calibrator, self.watch)
        self._take(settings)

    @property
    def calibrator(self) -> Learner:
        """What learns and maps."""
        return cast(Learner, self.pipeline.calibrator)

    def _tell_error(self, sentence: str) -> None:
        self.tell(Level.ERROR, 'update', sentence)

    # Status

    def status(self) -> Status:
        """Return what there is to say now."""
        pipeline, settings, reader = self.pipeline, self.settings, self.reader
        beyond = beyond_clip(pipeline, settings)
        status = Status(
            _summary(pipeline),
            list(judged(pipeline, settings, reader)),
            list(noted(pipeline, settings, reader, beyond)),
            figures_of(pipeline, beyond, reader.ignored),
        )
        status.figures |= context_figures(pipeline.calibrator, settings.context.variables)
        status.findings = [*self.watch.findings(), *status.findings]
        status.figures |= self.watch.figures()
        status.findings += [(Level.WARN, note) for note in settings.notes]
        if self.keeper is not None:
            status.findings += [(Level.WARN, note) for note in self.keeper.notes]
            if self.keeper.problem:
                status.findings.append((Level.ERROR, self.keeper.problem))
        file = self.keeper.file if self.keeper is not None else None
        status.figures['state file'] = 'off' if file is None else str(file.path)
        status.figures['state saved at'] = '' if file is None else file.saved_at
        return status

    # Parameters

    def check(self, settings: Settings) -> None:
        """Raise a ValueError if other settings cannot take effect; change nothing."""
        check_change(self.calibrator, settings)

    def configure(self, settings: Settings) -> None:
        """Let other settings, which `check` takes, take effect."""
        change_pipeline(self.pipeline, self.settings, settings)
        self._take(settings)

    def _take(self, settings: Settings) -> None:
        self.settings = settings
        self._inputs.take(settings)
        self.watch.take(settings)

    # State

    def keep(self, name: str, environment: Mapping[str, str]) -> str:
        """Open the state file and go on from it; return a sentence on what was found.

        Parameters
        ----------
        name : str
            Fully qualified node name.
        environment : mapping of str to str
            The environment variables.

        Raises
        ------
        ValueError
            If there is no place for the file.
        StateFileInUse
            If another process uses it.
        """
        if not self.settings.state.enabled:
            return 'state.enabled is false: what is learned will not be kept'
        path = resolve_path(self.settings.state.file, name, environment)
        keeper = StateKeeper(
            self.kept,
            StateFile(path, name),
            lambda problem: self.tell(Level.ERROR, SAVE, problem),
            lambda note: self.tell(Level.WARN, note, note),
        )
        found = keeper.start()
        self.keeper = keeper
        if keeper.problem:
            self.tell(Level.ERROR, 'state', keeper.problem)
        return found

    def autosave(self) -> None:
        """Save without waiting for the disk."""
        if self.keeper is not None:
            self.keeper.save_in_background()

    def save(self) -> str:
        """Save now; return a sentence on it, or raise OSError or StateError."""
        keeper = self._kept()
        done = 'saved to' if keeper.save() else 'nothing has changed since it was saved to'
        return f'{done} {keeper.file.path}'

    def load(self) -> str:
        """Go back to what the file holds; return a sentence, or raise OSError or StateError."""
        return self._kept().load()

    def reset(self) -> str:
        """Forget what was learned; return a sentence, or raise OSError."""
        if self.keeper is not None:
            return self.keeper.reset(self._forget)
        self._forget()
        return 'learning starts anew'

    def _forget(self) -> None:
        self.pipeline.reset()
        self.watch.reset()

    def _kept(self) -> StateKeeper:
        if self.keeper is None:
            raise StateError('state.enabled is false, so there is no state file')
        return self.keeper

    def close(self) -> None:
        """Decide the labels that wait and save what was learned; a second time nothing happens."""
        self.pipeline.flush()
        saved = self.keeper.stop() if self.keeper is not None else ''
        if saved:
            self.tell(Level.OK, SAVE, saved)


def _summary(pipeline: Pipeline[Any]) -> str:
    calibrated = pipeline.scores.calibrated
    if not calibrated.count:
        return 'calibrating; no label matched yet'
    return f'calibrating; ECE {calibrated.ece():.3f}, raw {pipeline.scores.raw.ece():.3f}'
