# SPDX-License-Identifier: Apache-2.0
"""Replays that do not wait for one another: one method over one recording, or over all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from calib_node.bags.comparison import RAW, Comparison
from calib_node.bags.driver import Driver
from calib_node.bags.playback import Playback, Source
from calib_node.bags.problems import RecordingError, one_line
from calib_node.bags.replay import replay
from calib_node.core.calibrators.merge import merge_states
from calib_node.core.state.document import restore_document
from calib_node.core.state.fields import StateError
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level


@dataclass(frozen=True)
class Unit:
    """A replay to be done, as plain data.

    Attributes
    ----------
    name : str
        Of the method with its parameters.
    source : Source
        The recordings, one after the other.
    parameters : dict
        Of the stream.
    costs : tuple of float
        As of `Comparison`.
    start : dict or None
        The state to go on from.
    """

    name: str
    source: Source
    parameters: dict[str, Any]
    costs: tuple[float, ...] = ()
    start: dict[str, Any] | None = None


@dataclass
class Outcome:
    """What came of a replay.

    Attributes
    ----------
    state : dict
        What was learned.
    comparison : Comparison
        Of the raw probabilities and the method.
    count : int
        Number of messages.
    problems : list of str
        What is wrong with the recordings.
    error : str
        Why there is nothing; empty otherwise.
    """

    state: dict[str, Any] = field(default_factory=dict)
    comparison: Comparison | None = None
    count: int = 0
    problems: list[str] = field(default_factory=list)
    error: str = ''


def run_unit(unit: Unit) -> Outcome:
    """Do a replay; what goes wrong is told in the outcome, with the method and the recordings."""
    try:
        return _run(unit)
    except (RecordingError, ValueError, OSError) as error:
        paths = ', '.join(map(str, unit.source.recordings))
        return Outcome(error=f'{unit.name} over {paths}: {one_line(error)}')


def _run(unit: Unit) -> Outcome:
    settings = Settings.from_mapping(unit.parameters)
    with Playback(unit.source, settings) as playback:
        driver = Driver(settings, playback.messages, _hear_nothing)
        if unit.start is not None:
            restore_document(driver.stream.kept, unit.start)
        comparison = Comparison([unit.name], settings.classes, unit.costs)
        driver.stream.pipeline.on_match.append(
            lambda match: comparison(match.label, match.raw, (match.published,))
        )
        count = replay(driver, playback)
        return Outcome(driver.stream.kept.state(), comparison, count, playback.problems)


def _hear_nothing(level: Level, kind: str, sentence: str) -> None:
    pass


def units_of(
    source: Source,
    parameters: Mapping[str, Mapping[str, Any]],
    merged: bool,
    costs: tuple[float, ...] = (),
    start: dict[str, Any] | None = None,
) -> list[Unit]:
    """Return the replays of several methods.

    Parameters
    ----------
    source : Source
        All recordings.
    parameters : mapping of str to mapping
        Those of each method, by its name.
    merged : bool
        Whether each recording is replayed from the start, for `combined` to merge what was
        learned; else one goes on from the other.
    costs, start
        As of `Unit`; a start is for the first method.
    """
    parts = [source]
    if merged and not source.together:
        parts = [replace(source, recordings=(path,)) for path in source.recordings]
    return [
        Unit(name, part, dict(given), costs, start if name == next(iter(parameters)) else None)
        for name, given in parameters.items()
        for part in parts
    ]


def combined(
    units: Sequence[Unit], outcomes: Sequence[Outcome]
) -> tuple[dict[str, dict[str, Any]], Comparison]:
    """Return the state of each method and the comparison of all.

    Raises
    ------
    RecordingError
        If one of the replays has failed, or its states cannot be merged.
    """
    for outcome in outcomes:
        if outcome.error:
            raise RecordingError(outcome.error)
    by_name: dict[str, list[Outcome]] = {}
    for unit, outcome in zip(units, outcomes, strict=True):
        by_name.setdefault(unit.name, []).append(outcome)
    first = outcomes[0].comparison
    assert first is not None
    whole = Comparison([*by_name], first.classes, first.costs)
    states: dict[str, dict[str, Any]] = {}
    for name, own in by_name.items():
        scores = [o.comparison.scores for o in own if o.comparison is not None]
        whole.scores[name] = _merged_scores([each[name] for each in scores])
        whole.scores[RAW] = _merged_scores([each[RAW] for each in scores])
        states[name] = own[0].state
        if len(own) > 1:
            try:
                states[name] = merge_states([outcome.state for outcome in own])
            except StateError as error:
                states[name] = {}
                whole.notes[name] = f'its states were not merged: {error}'
    return states, whole


def _merged_scores(scores: Sequence[Any]) -> Any:
    whole = deepcopy(scores[0])
    for other in scores[1:]:
        whole.merge(other)
    return whole


Run = Callable[[Sequence[Unit], Callable[[Outcome], None]], list[Outcome]]
"""Does all replays and tells of each that is done; returns the outcomes in their order."""


def run_here(units: Sequence[Unit], done: Callable[[Outcome], None]) -> list[Outcome]:
    """Do the replays one after the other in this process."""
    outcomes = []
    for unit in units:
        outcomes.append(run_unit(unit))
        done(outcomes[-1])
    return outcomes
