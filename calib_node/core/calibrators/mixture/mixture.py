# SPDX-License-Identifier: Apache-2.0
"""The mixture: a method to pick without knowing the stream or how late its labels are."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib_node.core.calibrators.base import Calibrator, as_label, as_probability
from calib_node.core.calibrators.mixture.delays import WINDOW, Delays
from calib_node.core.calibrators.mixture.experts import NAMES, Experts, Features
from calib_node.core.calibrators.mixture.weights import Weights
from calib_node.core.calibrators.parameters import Parameter
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

LARGEST = 1e6
"""Far above what the numbers of a ticket sum up to: probabilities, and logits of clipped ones."""


class Ticket(NamedTuple):
    """What a forecast was made of."""

    place: int
    """How many forecasts were issued before it."""
    forecasts: NDArray[np.float64]
    members: NDArray[np.float64]
    features: Features


class Mixture(Calibrator):
    """Mixes thirteen experts by how well their forecasts have done.

    Among them are the raw probability, Platt and beta scaling with and without forgetting, their
    tracking forms, isotonic regression and temperature of a window, and stacks of the others.
    Where labels come at once it is, but for a few nats in all, as good as the best of them, and
    often better than any. With late labels it goes by the forecasts that were issued, and by
    several rates at once, the slower the later labels come; it counts their delay itself.

    There is nothing to set.

    Notes
    -----
    Until the first label it forecasts what `ops` starts from, the clipped `p`. With labels at once
    its summed log-loss is at most that of any expert (as clipped to ``[0.001, 0.999]``) plus
    ln 39 = 3.7 for the mixing, and 1.7 for the first forecast, which is not the mixture's own:
    5.4 nats in all, whatever the labels. No useful bound is known where they are late. `Weights`
    says what is proved; the experts are chosen by theory and on held-out streams.

    References
    ----------
    Vovk, *Aggregating strategies*, COLT 1990. Herbster and Warmuth, *Tracking the best expert*,
    Machine Learning 32, 1998. Joulani, György and Szepesvári, *Online learning under delayed
    feedback*, ICML 2013.

    Examples
    --------
    >>> calibrator = Mixture()
    >>> round(calibrator.predict(0.9), 6)
    0.9
    >>> for number in range(400):
    ...     calibrator.update(0.9, number.bit_count() % 2)
    >>> 0.4 < calibrator.predict(0.9) < 0.6
    True
    """

    name: ClassVar[str] = 'mixture'

    def __init__(self) -> None:
        self._issued = 0
        self._experts = Experts()
        self._mixed = Weights(len(NAMES))
        self.reset()

    def reset(self) -> None:
        """Forget everything learned."""
        self._experts.reset()
        self._mixed.reset()
        self._delays = Delays()
        self._updates = 0

    @property
    def delay(self) -> float:
        """How many predictions come between one and its label: a running median."""
        return self._delays.median

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each expert in the forecast, by its name."""
        return dict(zip(NAMES, self._mixed.experts.tolist()))

    def figures(self) -> dict[str, float]:
        """Return the weight of each expert, the delay and the number of updates."""
        weights = {f'weight of {name}': weight for name, weight in self.weights.items()}
        return {**weights, 'delay of labels': self.delay, **super().figures()}

    def predict(self, p: float) -> float:
        """Return the calibrated probability of `p` and keep nothing."""
        return self._forecast(p)[0]

    def _forecast(self, p: float) -> tuple[float, Ticket]:
        p = as_probability(p)
        forecasts, features = self._experts.forecast(p)
        q, members = self._mixed.mix(forecasts)
        if not self._updates:
            # No expert has shown anything yet, and labels may be long in coming.
            q = float(forecasts[NAMES.index('ops')])
        return q, Ticket(self._issued, forecasts, members, features)

    def issue(self, p: float) -> tuple[float, Ticket]:
        """Return the calibrated probability of `p`, and what each expert forecast as its ticket."""
        issued = self._forecast(p)
        self._issued += 1
        return issued

    def update(self, p: float, y: int, ticket: Ticket | None = None) -> None:
        """Learn from the outcome `y` of the forecast made of `p`."""
        p, y = as_probability(p), as_label(y)
        if ticket is None:
            ticket = self.issue(p)[1]
        else:
            self._check_ticket(ticket)
        place, forecasts, members, features = ticket
        delay = self._delays.add(self._issued - 1 - place)
        self._updates += 1
        self._mixed.learn(forecasts, members, y, delay, self._updates)
        self._experts.learn(p, y, features, delay)

    def _check_ticket(self, ticket: Ticket) -> None:
        """Raise UpdateNotFinite if no forecast can have been made of a ticket.

        With what one was made of no update can fail.
        """
        place, forecasts, members, features = ticket
        numbers = [*forecasts.tolist(), *members.tolist(), *features.stack.tolist()]
        size = sum(numbers) + features.logit + sum(features.beta)
        if not (0 <= place < self._issued and abs(size) < LARGEST):
            raise UpdateNotFinite('the ticket holds what no forecast was made of')

    def _mark(self, ticket: Ticket | None) -> None:
        if ticket is not None:
            self._check_ticket(ticket)

    def parameters(self) -> dict[str, Parameter]:
        """Return an empty dict."""
        return {}

    def _configure(self, values: dict[str, Any]) -> None:
        pass

    def _learned(self) -> dict[str, Any]:
        return {
            'weights': self._mixed.state(),
            'delays': self._delays.values,
            'experts': self._experts.state(),
        }

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        delays = state.get('delays')
        if not isinstance(delays, list) or len(delays) != min(updates, WINDOW):
            raise StateError(f'delays must be a list of {min(updates, WINDOW)} whole numbers')
        delays = [fields.whole({'delays': delay}, 'delays') for delay in delays]
        mixed, experts = deepcopy(self._mixed), deepcopy(self._experts)
        mixed.restore(fields.table(state, 'weights'))
        experts.restore(fields.table(state, 'experts'), updates)
        self._mixed, self._experts, self._delays = mixed, experts, Delays(delays)
