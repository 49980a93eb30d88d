# SPDX-License-Identifier: Apache-2.0
"""One classifier's stream: messages in, corrected messages out, what is learned kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from calib_node.core.calibrators import Learner
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import Refused, brief
from calib_node.core.samples import Label, Prediction
from calib_node.core.state.fields import StateError
from calib_node.core.state.file import StateFile
from calib_node.core.state.keeper import StateKeeper
from calib_node.core.state.path import resolve_path
from calib_node.stream.assembly import (
    change_pipeline,
    check_change,
    make_pipeline,
    nanoseconds,
)
from calib_node.stream.codecs import Messages, label_codec, prediction_codec
from calib_node.stream.figures import figures_of
from calib_node.stream.judgement import beyond_clip, judged, noted
from calib_node.stream.labels import LabelReader
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level, Status

Tell = Callable[[Level, str, str], None]
"""Takes in what happened just now: how grave it is, what kind of thing it is, and the sentence."""

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
    prediction, label : Codec
        How the messages of the inputs are read.
    pipeline : Pipeline
        What is learned and scored; `pipeline.on_match` is for who wants to see each match.
    keeper : StateKeeper or None
        Keeps what was learned in a file.

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
        self.reader = LabelReader(settings.positive_class)
        self.prediction = prediction_codec(messages, settings.raw, settings.classes)
        self.label = label_codec(messages, settings.label, self.reader)
        self._decode_prediction = self.prediction.decode
        self._decode_label = self.label.decode
        self._encode = self.prediction.encode
        self.pipeline.on_error = self._tell_error
        self._take(settings)

    @property
    def calibrator(self) -> Learner:
        """What learns and maps."""
        return cast(Learner, self.pipeline.calibrator)

    # Messages

    def on_prediction(self, message: Any, received: int | None = None) -> Any:
        """Take a prediction in.

        Parameters
        ----------
        message : object or bytes
            As the codec takes it.
        received : int or None
            Its stamp in nanoseconds, where that is not in the message.

        Returns
        -------
        object, bytes or None
            The message to publish; None where it was refused and is dropped.
        """
        try:
            stamp, value, carrier = self._decode_prediction(message)
        except Exception as error:
            refused = _as_refused(error, received)
            self.pipeline.refuse_prediction(refused)
            return self._refused('prediction', refused, message)
        if received is not None:
            stamp = received
        try:
            published = self.pipeline.predict(Prediction(stamp, value))
            return carrier if published is None else self._encode(carrier, published)
        except Refused as refused:
            return self._refused('prediction', refused, message)
        except Exception as error:
            return self._refused('prediction', self._spoiled(error), message)

    def on_label(self, message: Any, received: int | None = None) -> None:
        """Take a label in, as in `on_prediction`."""
        try:
            stamp, value, _ = self._decode_label(message)
        except Exception as error:
            refused = _as_refused(error, received)
            self.pipeline.refuse_label(refused)
            self._refused('label', refused)
            return
        if received is not None:
            stamp = received
        try:
            self.pipeline.label(Label(stamp + self._label_offset if stamp else 0, value))
        except Refused as refused:
            self._refused('label', refused)
        except Exception as error:
            self._refused('label', self._spoiled(error))

    def _refused(self, kind: str, refused: Refused, message: Any = None) -> Any:
        self.tell(Level.WARN, f'{kind}: {refused.reason}', f'a {kind} is refused: {refused}')
        return message if self.settings.on_invalid == 'pass' else None

    def _spoiled(self, error: Exception) -> Refused:
        """Return the refusal of a message that was taken, and then brought about an error."""
        refused = _as_refused(error, None)
        self.pipeline.counts.refused[refused.reason] += 1
        return refused

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
            figures_of(pipeline, beyond),
        )
        status.findings += [(Level.WARN, note) for note in settings.notes]
        if self.keeper is not None:
            status.findings += [(Level.WARN, note) for note in self.keeper.notes]
            if self.keeper.problem:
                status.findings.append((Level.ERROR, self.keeper.problem))
        status.figures['state file'] = str(self.keeper.file.path) if self.keeper else 'off'
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
        self._label_offset = nanoseconds(settings.label.offset)

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
            self.calibrator,
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
            return self.keeper.reset(self.pipeline.reset)
        self.pipeline.reset()
        return 'learning starts anew'

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


def _as_refused(error: Exception, stamp: int | None) -> Refused:
    """Return the refusal that an error is, or stands for, whatever a message brought about."""
    if not isinstance(error, Refused):
        error = Refused('unreadable', f'{type(error).__name__}: {brief(str(error))}')
    if stamp is not None:
        error.stamp = stamp
    return error


def _summary(pipeline: Pipeline[Any]) -> str:
    calibrated = pipeline.scores.calibrated
    if not calibrated.count:
        return 'calibrating; no label matched yet'
    return f'calibrating; ECE {calibrated.ece():.3f}, raw {pipeline.scores.raw.ece():.3f}'
