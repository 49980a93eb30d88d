# SPDX-License-Identifier: Apache-2.0
"""The alarms of a stream: on what is published, and on what comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from typing import Any

from calib_node.core.samples import NANOSECONDS, Match
from calib_node.core.state import fields
from calib_node.core.trust.alarm import Alarm, Raised
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level

STATE = 'alarms'
"""Its field in a state."""
LATE = 'late'
AT_ONCE = 256
"""So many matches are looked at together, which costs far less than one by one."""


class Watch:
    """Sees each match, and raises an alarm once the numbers have ceased to be honest.

    Parameters
    ----------
    settings : Settings
        The parameters.

    Attributes
    ----------
    published, raw : Alarm or None
        On what was published, and on what came in; None where alarms are off. The second shows that
        the model has changed though the map has followed it.
    on_change : callable
        Called when that on what was published is raised, has cleared or is acknowledged.
    """

    def __init__(self, settings: Settings) -> None:
        self._several = settings.classes > 1
        self.published: Alarm | None = None
        self.raw: Alarm | None = None
        self.on_change: Callable[[], None] = _ignore
        self._waiting: list[Match[Any]] = []
        self.take(settings)

    def take(self, settings: Settings) -> None:
        """Let other settings take effect: with other ones of the alarm it starts anew."""
        self.look()
        alarm = settings.alarm
        wanted = (alarm.false_alarm_every, alarm.labels == LATE)
        if not alarm.false_alarm_every:
            self.published = self.raw = None
        elif self.published is None or (self.published.every, self.published.late) != wanted:
            self.published, self.raw = Alarm(*wanted), Alarm(*wanted)

    def __call__(self, match: Match[Any]) -> None:
        """Take in a match; it is looked at with others, at the latest when it is asked for."""
        if self.published is None:
            return
        waiting = self._waiting
        waiting.append(match)
        if len(waiting) >= AT_ONCE:
            self.look()

    def look(self) -> None:
        """Look at the matches that wait."""
        matches, self._waiting = self._waiting, []
        if not matches or self.published is None or self.raw is None:
            return
        was = self.published.raised
        delays, stamps = [m.delay for m in matches], [m.stamp for m in matches]
        for alarm, side in ((self.published, 'published'), (self.raw, 'raw')):
            values: list[Any] = [getattr(match, side) for match in matches]
            labels = [match.label for match in matches]
            if self._several:
                # Whether the likeliest class is the true one.
                tops = [int(p.argmax()) for p in values]
                labels = [int(top == label) for top, label in zip(tops, labels)]
                values = [float(p[top]) for p, top in zip(values, tops)]
            alarm.add_many(values, labels, delays, stamps)
        if self.published.raised is not was:
            self.on_change()

    def acknowledge(self) -> str:
        """Clear the alarm; return a sentence on what it was."""
        self.look()
        if self.published is None or self.raw is None:
            return 'alarm.false_alarm_every is 0, so there is no alarm'
        raised = self.published.raised
        self.published.acknowledge()
        self.raw.acknowledge()
        self.on_change()
        return 'no alarm is raised' if raised is None else f'cleared: {said(raised)}'

    def reset(self) -> None:
        """Start anew, since what was learned is forgotten."""
        self._waiting = []
        for alarm in (self.published, self.raw):
            if alarm is not None:
                alarm.__init__(alarm.every, alarm.late)  # type: ignore[misc]
        self.on_change()

    def twin(self) -> Watch:
        """Return a copy that nobody listens to."""
        self.look()
        other = copy(self)
        other.published, other.raw = deepcopy((self.published, self.raw))
        other.on_change = _ignore
        return other

    # What is said

    @property
    def sentence(self) -> str:
        """Why the alarm is raised and what helps; empty where it is not."""
        if self.published is None or self.published.raised is None:
            return ''
        return (
            f'{said(self.published.raised)}: the model or what it sees has changed; act on it no '
            'more until it is looked at, and call ~/acknowledge_alarm then'
        )

    def findings(self) -> Iterator[tuple[Level, str]]:
        """Yield what is wrong."""
        self.look()
        if self.sentence:
            yield Level.WARN, self.sentence

    def figures(self) -> dict[str, str]:
        """Return the state of the alarms by name."""
        if self.published is None or self.raw is None:
            return {'alarm': 'off'}
        turns = self.published.turns
        return {
            'alarm': _shown(self.published.raised),
            'alarm on raw': _shown(self.raw.raised),
            'alarm turns': str(turns) if turns else 'not known yet',
        }

    # State

    def state(self) -> dict[str, Any] | None:
        """Return both, ready for YAML; None where they are off or have seen nothing."""
        self.look()
        if self.published is None or self.raw is None or not self.published.labels:
            return None
        return {'published': self.published.state(), 'raw': self.raw.state()}

    def restored(self, state: dict[str, Any]) -> tuple[Alarm | None, Alarm | None]:
        """Return the alarms that a field of a state gives, or raise a StateError."""
        pair = deepcopy((self.published, self.raw))
        for name, alarm in zip(('published', 'raw'), pair):
            if alarm is not None:
                alarm.restore(fields.table(state, name))
        return pair


def _ignore() -> None:
    pass


def said(raised: Raised) -> str:
    """Return since when what is published has been wrong, and in which way."""
    since = f'since label {raised.since_label + 1:,}'
    if raised.since_stamp:
        since += f' (stamp {raised.since_stamp / NANOSECONDS:.3f} s)'
    return (
        f'the published probabilities have been {raised.kind} {since}, found at label '
        f'{raised.label:,}'
    )


def _shown(raised: Raised | None) -> str:
    if raised is None:
        return 'silent'
    return f'{raised.kind} since label {raised.since_label + 1}'
