# SPDX-License-Identifier: Apache-2.0
"""What becomes of a message that comes in: of one object, or of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calib_node.core.frame_pipeline import FramePipeline
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import Refused, brief
from calib_node.core.samples import Label, Prediction
from calib_node.stream.assembly import nanoseconds
from calib_node.stream.codecs import (
    frame_codec,
    label_codec,
    label_frame_codec,
    prediction_codec,
)
from calib_node.stream.definitions import Messages
from calib_node.stream.labels import LabelReader
from calib_node.stream.one_object import context_of
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level

Tell = Callable[[Level, str, str], None]
"""Takes in what happened just now: how grave it is, what kind of thing it is, and the sentence."""


class Inputs:
    """Messages of one object.

    Parameters
    ----------
    messages : Messages
        The message types there are.
    settings : Settings
        The parameters.
    pipeline : Pipeline
        What learns of them.
    reader : LabelReader
        What labels mean.
    tell : callable
        Told of what is refused.

    Attributes
    ----------
    prediction, label : Codec
        How the messages are read.
    """

    prediction: Any
    label: Any

    def __init__(
        self,
        messages: Messages,
        settings: Settings,
        pipeline: Pipeline[Any],
        reader: LabelReader,
        tell: Tell,
    ) -> None:
        self.pipeline = pipeline
        self.tell = tell
        self._make_codecs(messages, settings, reader)
        self.take(settings)

    def _make_codecs(self, messages: Messages, settings: Settings, reader: LabelReader) -> None:
        self.prediction = prediction_codec(messages, settings)
        self.label = label_codec(messages, settings, reader)
        self._decode_prediction = self.prediction.decode
        self._decode_label = self.label.decode
        self._encode = self.prediction.encode

    def take(self, settings: Settings) -> None:
        """Let other settings take effect."""
        self._pass_on = settings.on_invalid == 'pass'
        self._label_offset = nanoseconds(settings.label.offset)

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
            return self._unread(error, received, message)
        if received is not None:
            stamp = received
        try:
            published = self.pipeline.predict(Prediction(stamp, value))
            return carrier if published is None else self._encode(carrier, published)
        except Refused as refused:
            return self._refused('prediction', refused, message)
        except Exception as error:
            return self._spoiled(error, message)

    def on_label(self, message: Any, received: int | None = None) -> None:
        """Take a label in, as in `on_prediction`."""
        try:
            stamp, value, _ = self._decode_label(message)
        except Exception as error:
            self._unread_label(error, received)
            return
        if received is not None:
            stamp = received
        try:
            self.pipeline.label(Label(stamp + self._label_offset if stamp else 0, value))
        except Refused as refused:
            self._refused('label', refused)
        except Exception as error:
            self._spoiled_label(error)

    def _unread(self, error: Exception, received: int | None, message: Any) -> Any:
        refused = as_refused(error, received)
        self.pipeline.refuse_prediction(refused)
        return self._refused('prediction', refused, message)

    def _unread_label(self, error: Exception, received: int | None) -> None:
        refused = as_refused(error, received)
        self.pipeline.refuse_label(refused)
        self._refused('label', refused)

    def _spoiled(self, error: Exception, message: Any) -> Any:
        """Refuse a prediction that was taken, and then brought about an error."""
        refused = as_refused(error, None)
        self.pipeline.spoil_prediction(refused)
        return self._refused('prediction', refused, message)

    def _spoiled_label(self, error: Exception) -> None:
        refused = as_refused(error, None)
        self.pipeline.spoil_label(refused)
        self._refused('label', refused)

    def _refused(self, kind: str, refused: Refused, message: Any = None) -> Any:
        self.tell(Level.WARN, f'{kind}: {refused.reason}', f'a {kind} is refused: {refused}')
        return message if self._pass_on else None


class InputsInContext(Inputs):
    """Messages of one object whose predictions have a context."""

    def on_prediction(self, message: Any, received: int | None = None) -> Any:
        """As in `Inputs`."""
        try:
            stamp, value, carrier = self._decode_prediction(message)
        except Exception as error:
            return self._unread(error, received, message)
        if received is not None:
            stamp = received
        try:
            prediction: Prediction[Any] = Prediction(stamp, value, '', context_of(carrier))
            published = self.pipeline.predict(prediction)
            return carrier if published is None else self._encode(carrier, published)
        except Refused as refused:
            return self._refused('prediction', refused, message)
        except Exception as error:
            return self._spoiled(error, message)


class FrameInputs(Inputs):
    """Messages of many objects."""

    pipeline: FramePipeline[Any]

    def _make_codecs(self, messages: Messages, settings: Settings, reader: LabelReader) -> None:
        self.prediction = frame_codec(messages, settings)
        self.label = label_frame_codec(messages, settings, reader)

    def on_prediction(self, message: Any, received: int | None = None) -> Any:
        """As in `Inputs`; an object that is refused goes out as it came."""
        try:
            frame, carrier = self.prediction.decode(message)
        except Exception as error:
            return self._unread(error, received, message)
        if received is not None:
            frame.stamp = received
        try:
            answer = self.pipeline.predict_frame(frame)
            for refused in first_of_each(answer.refused):
                self._refused('prediction', refused)
            if not answer.calibrated.any():
                return message
            return self.prediction.encode(carrier, answer.published, answer.calibrated)
        except Exception as error:
            return self._spoiled(error, message)

    def on_label(self, message: Any, received: int | None = None) -> None:
        """As in `Inputs`."""
        try:
            labels = self.label.decode(message)
        except Exception as error:
            self._unread_label(error, received)
            return
        if received is not None:
            labels.stamp = received
        if labels.stamp:
            labels.stamp += self._label_offset
        try:
            for refused in first_of_each(self.pipeline.label_frame(labels)):
                self._refused('label', refused)
        except Refused as refused:
            self._refused('label', refused)
        except Exception as error:
            self._spoiled_label(error)


def make_inputs(
    messages: Messages,
    settings: Settings,
    pipeline: Pipeline[Any],
    reader: LabelReader,
    tell: Tell,
) -> Inputs:
    """Return the inputs that the settings ask for, as in `Inputs`.

    Raises
    ------
    ValueError
        If the settings do not go with the message types; the sentence says what to set.
    """
    kind = Inputs
    if settings.match.objects != 'single':
        kind = FrameInputs
    elif settings.contexts:
        kind = InputsInContext
    return kind(messages, settings, pipeline, reader, tell)


def first_of_each(refused: dict[int, Refused]) -> list[Refused]:
    """Return one refusal for each reason."""
    first: dict[str, Refused] = {}
    for refusal in refused.values():
        first.setdefault(refusal.reason, refusal)
    return list(first.values())


def as_refused(error: Exception, stamp: int | None) -> Refused:
    """Return the refusal that an error is, or stands for, whatever a message brought about."""
    if not isinstance(error, Refused):
        error = Refused('unreadable', f'{type(error).__name__}: {brief(str(error))}')
    if stamp is not None:
        error.stamp = stamp
    return error
