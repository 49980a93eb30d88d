# SPDX-License-Identifier: Apache-2.0
"""Several calibrators that see the same predictions and labels, as if each were alone.

Which label belongs to which prediction does not depend on the method. So one pipeline matches, and
whatever it asks of its calibrator, each of the others is asked too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from calib_node.bags.comparison import Comparison
from calib_node.bags.problems import one_line
from calib_node.core.samples import Floats
from calib_node.stream.stream import Stream


class Panel:
    """Stands for the first of several calibrators, and asks the others too.

    Parameters
    ----------
    stream : Stream
        Whose calibrator is the first; it goes on as it would without the others.
    others : sequence of Learner
        With as many classes and the same contexts.
    on_outcome : callable
        Called with the label and the forecasts of all for it, the first's own first, in the order
        of learning.

    Attributes
    ----------
    seconds : list of float
        What each has taken, the first first.
    failures : list of str
        Why the last update of each was not taken; empty where all were.
    """

    def __init__(
        self, stream: Stream, others: Sequence[Any], on_outcome: Callable[[int, Any, Any], None]
    ) -> None:
        self._first: Any = stream.calibrator
        self._all = [self._first, *others]
        self._on_outcome = on_outcome
        self.seconds = [0.0] * len(self._all)
        self.failures = [''] * len(self._all)
        stream.pipeline.calibrator = self  # type: ignore[assignment]
        stream.pipeline.on_unlearned = self.skip

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first, name)

    def issue(self, p: Any, *context: Any) -> tuple[Any, Any]:
        """Return the forecast of the first, and what all need for its label."""
        forecasts, tickets = [], []
        for index, calibrator in enumerate(self._all):
            begin = perf_counter()
            q, ticket = calibrator.issue(p, *context)
            self.seconds[index] += perf_counter() - begin
            forecasts.append(q)
            tickets.append(ticket)
        return forecasts[0], (forecasts, tickets)

    def issue_many(self, p: Floats, contexts: Sequence[Any] = ()) -> tuple[Floats, Sequence[Any]]:
        """Return those of the objects of a message."""
        issued = []
        for index, calibrator in enumerate(self._all):
            begin = perf_counter()
            issued.append(calibrator.issue_many(p, contexts))
            self.seconds[index] += perf_counter() - begin
        forecasts = zip(*(q.tolist() for q, _ in issued))
        tickets = zip(*(ticket for _, ticket in issued))
        return issued[0][0], list(zip(forecasts, tickets))

    def update(self, p: Any, y: int, ticket: Any) -> None:
        """Let each learn; what the first raises is raised, once the others have learned."""
        forecasts, tickets = ticket
        self._on_outcome(y, p, forecasts)
        of_first: Exception | None = None
        for index, calibrator in enumerate(self._all):
            begin = perf_counter()
            try:
                calibrator.update(p, y, tickets[index])
                self.failures[index] = ''
            except Exception as error:
                # As a pipeline goes on after whatever it was.
                self.failures[index] = one_line(error)
                of_first = of_first or (None if index else error)
            self.seconds[index] += perf_counter() - begin
        if of_first is not None:
            raise of_first

    def skip(self, p: Any, y: int, ticket: Any) -> None:
        """Score what is not learned."""
        self._on_outcome(y, p, ticket[0])

    def tell(self, comparison: Comparison) -> None:
        """Let a comparison have the speed of each, and what failed."""
        names = [*comparison.scores][1:]
        for name, seconds, failure in zip(names, self.seconds, self.failures):
            if seconds > 0.0:
                comparison.rates[name] = comparison.count / seconds
            if failure:
                comparison.notes[name] = f'its last update was not taken: {failure}'
