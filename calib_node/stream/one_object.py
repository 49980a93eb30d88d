# SPDX-License-Identifier: Apache-2.0
"""Messages of one object, by what is read of those of many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calib_node.core.samples import Frame
from calib_node.stream.frames import FrameCodec, LabelFrameCodec


class OneObject:
    """Reads and writes predictions of one object, as `Codec`.

    Parameters
    ----------
    codec : FrameCodec
        Of a layout that leads to one object.
    """

    def __init__(self, codec: FrameCodec) -> None:
        self.type_name = codec.type_name
        self.serialized = codec.serialized
        self._codec = codec

    def decode(self, message: Any) -> tuple[int, Any, Any]:
        """As in `Codec`; where there is no opinion the carrier is the message."""
        frame, columns = self._codec.decode(message)
        for refused in frame.refused.values():
            refused.stamp = frame.stamp
            raise refused
        if frame.absent is not None and frame.absent[0]:
            return frame.stamp, None, message
        value: Any = float(frame.values[0]) if frame.values.ndim == 1 else frame.values[0]
        return frame.stamp, value, Decoded(columns, frame)

    def encode(self, carrier: Any, probability: Any) -> Any:
        """As in `Codec`."""
        return self._codec.encode(carrier.columns, np.array([probability]), np.array([True]))


class Decoded(NamedTuple):
    """What is written into, and what was read of it.

    Attributes
    ----------
    columns : object
        As `FrameCodec.encode` takes it.
    frame : Frame
        Of one object.
    """

    columns: Any
    frame: Frame


def context_of(carrier: Any) -> tuple[Any, ...]:
    """Return the context of what `OneObject` decoded; () where it holds no opinion."""
    contexts = carrier.frame.contexts if isinstance(carrier, Decoded) else ()
    return contexts[0] if contexts else ()


class LabelOfOne:
    """Reads labels of one object, as `Codec`.

    Parameters
    ----------
    codec : LabelFrameCodec
        Of a layout that leads to one object.
    """

    def __init__(self, codec: LabelFrameCodec) -> None:
        self.type_name = codec.type_name
        self.serialized = codec.serialized
        self._codec = codec

    def decode(self, message: Any) -> tuple[int, float | None, Any]:
        """As in `Codec`."""
        labels = self._codec.decode(message)
        for refused in labels.refused.values():
            refused.stamp = labels.stamp
            raise refused
        return labels.stamp, labels.values[0], None

    def encode(self, carrier: Any, probability: Any) -> Any:
        """As in `Codec`; labels are not written."""
        raise NotImplementedError
