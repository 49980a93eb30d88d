# SPDX-License-Identifier: Apache-2.0
"""Hands the bytes of recorded messages to a stream, as the middleware hands them to the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calib_node.bags.definitions import RecordedMessages
from calib_node.bags.playback import Played
from calib_node.core.refusal import Refused
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level
from calib_node.stream.stream import Stream

Take = Callable[[bytes, int | None], Any]


class Driver:
    """A stream that takes bytes, whatever its codecs take.

    Parameters
    ----------
    settings : Settings
        The parameters.
    messages : RecordedMessages
        The types there are.
    tell : callable
        Told at once of what an operator should know, as by `Stream`.

    Attributes
    ----------
    stream : Stream
    on_prediction : callable
        Takes the bytes of a prediction and its stamp, where that is not in there; returns the bytes
        to publish or None.
    on_label : callable
        Takes those of a label.

    Raises
    ------
    ValueError
        If the parameters do not go together or with the message types.
    """

    def __init__(
        self,
        settings: Settings,
        messages: RecordedMessages,
        tell: Callable[[Level, str, str], None],
    ) -> None:
        self.stream = stream = Stream(settings, messages, tell)
        self._tell = tell
        self._prediction: Callable[[bytes], Any] = _plain
        self._label: Callable[[bytes], Any] = _plain
        self.on_prediction: Take = stream.on_prediction
        self.on_label: Take = stream.on_label
        if not stream.prediction.serialized:
            self._prediction = messages.deserializer(stream.prediction.type_name)
            self._to_bytes = messages.serializer(stream.prediction.type_name)
            self.on_prediction = self._prediction_object
        if not stream.label.serialized:
            self._label = messages.deserializer(stream.label.type_name)
            self.on_label = self._label_object

    def _prediction_object(self, data: bytes, received: int | None) -> bytes | None:
        try:
            message = self._prediction(data)
        except Exception as error:
            self._refused('prediction', error)
            return None
        answer = self.stream.on_prediction(message, received)
        return None if answer is None else self._to_bytes(answer)

    def _label_object(self, data: bytes, received: int | None) -> None:
        try:
            message = self._label(data)
        except Exception as error:
            self._refused('label', error)
            return
        self.stream.on_label(message, received)

    def _refused(self, kind: str, error: Exception) -> None:
        """Count bytes that are no message, which the middleware would drop in silence."""
        refused = Refused('undecodable', error)
        pipeline = self.stream.pipeline
        take = pipeline.refuse_label if kind == 'label' else pipeline.refuse_prediction
        take(refused)
        self._tell(Level.WARN, f'{kind}: {refused.reason}', f'a {kind} is refused: {refused}')

    def stamp_of(self, played: Played) -> int:
        """Return the stamp of a message in nanoseconds; 0 where it has none."""
        if played.received is not None:
            return played.received
        try:
            if played.is_label:
                decoded = self.stream.label.decode(self._label(played.data))
            else:
                decoded = self.stream.prediction.decode(self._prediction(played.data))
        except Refused as refused:
            return refused.stamp or 0
        except Exception:
            return 0
        first = decoded[0] if isinstance(decoded, tuple) else decoded
        stamp: int = first if isinstance(first, int) else first.stamp
        return stamp


def _plain(data: bytes) -> Any:
    return data
