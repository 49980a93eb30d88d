# SPDX-License-Identifier: Apache-2.0
"""What a state file keeps of a stream: what was learned, and what its alarms have seen."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from calib_node.core.calibrators import Learner
from calib_node.core.state import fields
from calib_node.stream.watch import STATE, Watch


class Kept:
    """A calibrator with the alarms beside it, as one `Learner` of a state file.

    The field of the alarms comes first: a state without them is sound, and must not be what is left
    of a file cut short.

    Parameters
    ----------
    calibrator : Learner
    watch : Watch
    """

    def __init__(self, calibrator: Learner, watch: Watch) -> None:
        self._calibrator, self._watch = calibrator, watch

    def __deepcopy__(self, memo: dict[int, Any]) -> Kept:
        """Return a copy that nobody listens to."""
        return Kept(deepcopy(self._calibrator, memo), self._watch.twin())

    @property
    def name(self) -> str:
        """Name of the method."""
        return self._calibrator.name

    @property
    def classes(self) -> int:
        """Number of probabilities in a forecast."""
        return self._calibrator.classes

    @property
    def updates(self) -> int:
        """Number of labels learned."""
        return self._calibrator.updates

    def state(self) -> dict[str, Any]:
        """Return all of it, ready for YAML."""
        alarms = self._watch.state()
        learned = self._calibrator.state()
        return learned if alarms is None else {STATE: alarms, **learned}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave, or raise a StateError and change nothing."""
        watch, alarms = self._watch, None
        # What waits belongs to the alarms as they were.
        watch.look()
        if STATE in state:
            alarms = watch.restored(fields.table(state, STATE))
        self._calibrator.restore({key: state[key] for key in state if key != STATE})
        if alarms is not None:
            watch.published, watch.raw = alarms
