# SPDX-License-Identifier: Apache-2.0
"""What a report on a replay is made of, collected while it runs."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import yaml

from calib_node.core.samples import NANOSECONDS, Match
from calib_node.report.data import ReportData, Samples
from calib_node.stream.figures import context_value
from calib_node.stream.settings import Settings
from calib_node.stream.stream import Stream

MOST_POINTS = 400
"""At most twice as many points of what is learned over time are kept."""


class Collector:
    """Keeps the matches of a stream, and what it has learned over time.

    Parameters
    ----------
    stream : Stream
        What is looked at; it is joined.
    clock : object
        Has the time of the recording.
    """

    def __init__(self, stream: Stream, clock: Any) -> None:
        self._stream, self._clock = stream, clock
        self._classes = stream.settings.classes
        self._stamps, self._labels = array('q'), array('q')
        self._raw, self._published, self._delay = array('d'), array('d'), array('d')
        variables = stream.settings.context.variables
        self._variables = variables
        self._contexts: dict[str, list[str]] = {variable.name: [] for variable in variables}
        self._path: list[tuple[int, dict[str, float]]] = []
        self._every, self._ticks = 1, 0
        stream.pipeline.on_match.append(self)

    def __call__(self, match: Match[Any]) -> None:
        """Take in a match."""
        self._stamps.append(match.stamp)
        self._labels.append(match.label)
        self._delay.append((self._clock.time - match.stamp) / NANOSECONDS)
        if self._classes == 1:
            self._raw.append(match.raw)
            self._published.append(match.published)
        else:
            self._raw.extend(match.raw.tolist())
            self._published.extend(match.published.tolist())
        for variable, value in zip(self._variables, match.context):
            self._contexts[variable.name].append(context_value(value, variable.edges))

    def tick(self, messages: int) -> None:
        """Look at what has been learned by now."""
        self._ticks += 1
        if self._ticks % self._every:
            return
        self._path.append((self._clock.time, self._stream.calibrator.figures()))
        if len(self._path) > 2 * MOST_POINTS:
            self._path = self._path[::2]
            self._every *= 2

    def data(self, title: str, source: str, comparison: list[list[str]]) -> ReportData:
        """Return what is known by now."""
        stream, shape = self._stream, (-1,) if self._classes == 1 else (-1, self._classes)
        delay = np.array(self._delay)
        # Of clocks that do not agree nothing is told.
        delay = np.where(np.abs(delay) < 86_400.0, delay, np.nan)
        full = all(len(values) == len(self._labels) for values in self._contexts.values())
        samples = Samples(
            np.array(self._stamps),
            np.array(self._raw).reshape(shape),
            np.array(self._published).reshape(shape),
            np.array(self._labels),
            delay,
            self._contexts if full else {},
        )
        status = stream.status()
        return ReportData(
            title,
            source,
            samples,
            status.figures,
            [sentence for _, sentence in sorted(status.findings, reverse=True)],
            stream.calibrator.state(),
            self._path,
            parameters_text(stream.settings),
            comparison,
        )


def parameters_text(settings: Settings) -> str:
    """Return the YAML of the parameters that are not at their defaults."""
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.values.items()
        if value != settings.specs[name].default
    }
    text: str = yaml.safe_dump(
        {'/**': {'ros__parameters': {'method': settings.method, **given}}}, sort_keys=False
    )
    return text
