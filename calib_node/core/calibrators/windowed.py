# SPDX-License-Identifier: Apache-2.0
"""Maps that are fitted again and again to the last samples."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from typing import Any, ClassVar, Protocol

import numpy as np

from calib_node.core.calibrators.base import Calibrator, as_label, as_probability
from calib_node.core.calibrators.fits import (
    IsotonicMap,
    PlattMap,
    fit_binary_temperature,
    fit_isotonic,
    fit_platt,
)
from calib_node.core.calibrators.fits.checks import Floats, Integers
from calib_node.core.calibrators.parameters import Parameter, check_parameters
from calib_node.core.ranges import Interval
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

UNIT = Interval(0.0, 1.0)


class Map(Protocol):
    """A fitted map."""

    def predict(self, p: float) -> float:
        """Return the calibrated probability of `p`."""


class Windowed(Calibrator):
    """Fits a map to the last samples, anew with every so many labels.

    Until the first fit the map is the identity. The samples of the last fit are kept beside those
    since, so that the map is a function of what is kept and a saved state needs nothing else. They
    are learned in the order in which their labels come; there is no ticket.

    Parameters
    ----------
    **parameters : float, int or bool
        `window`, the number of samples fitted to, `refit_every`, the number of labels between
        fits and before the first, and those of the map. A change of any of them acts at once:
        the map is fitted anew, where there is one already.
    """

    def __init__(self, **parameters: Parameter) -> None:
        self._parameters = check_parameters(parameters)
        self.reset()

    @abstractmethod
    def _fit(self, p: Floats, y: Integers) -> Map:
        """Fit the map to samples, at least one."""

    def reset(self) -> None:
        """Go back to the identity map."""
        self._keep(array('d'), array('b'), 0)
        self._updates = 0

    def issue(self, p: float) -> tuple[float, None]:
        """Return the calibrated probability of `p` and no ticket."""
        p = as_probability(p)
        return (p if self._map is None else self._map.predict(p)), None

    def update(self, p: float, y: int, ticket: None = None) -> None:
        """Learn from the outcome `y` of the forecast made of `p`."""
        p, y = as_probability(p), as_label(y)
        self._p.append(p)
        self._y.append(y)
        self._since += 1
        if self._since >= self._parameters['refit_every']:
            self._refit()
        self._updates += 1

    def _refit(self) -> None:
        """Drop what has left the window and fit to the rest."""
        window = self._parameters['window']
        self._keep(self._p[-window:], self._y[-window:], 0)

    def _keep(self, p: array[float], y: array[int], since: int) -> None:
        """Keep samples, all but the last `since` of which the map is fitted to."""
        fitted = len(p) - since
        self._map: Map | None = None
        if fitted:
            self._map = self._fit(np.array(p[:fitted]), np.array(y[:fitted], dtype=np.int64))
        self._p, self._y, self._since = p, y, since

    def parameters(self) -> dict[str, Parameter]:
        """Return window, refit_every and the parameters of the map."""
        return dict(self._parameters)

    def _configure(self, values: dict[str, Any]) -> None:
        before, self._parameters = self._parameters, values
        another_map = {**before, 'refit_every': 0} != {**values, 'refit_every': 0}
        if self._since >= values['refit_every'] or (another_map and self._map is not None):
            self._refit()

    def _learned(self) -> dict[str, Any]:
        return {'p': self._p.tolist(), 'y': self._y.tolist(), 'since': self._since}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        p = array('d', fields.numbers(state, 'p', limits=UNIT))
        labels = state.get('y')
        if (
            not isinstance(labels, list)
            or len(labels) != len(p)
            or any(isinstance(y, bool) or y not in (0, 1) for y in labels)
        ):
            raise StateError(f'y must be a list of {len(p)} labels, 0 or 1, not {brief(labels)}')
        since, window = fields.whole(state, 'since'), parameters['window']
        if not since <= len(p) <= since + window or len(p) > updates:
            raise StateError(
                f'{len(p)} samples, {since} of them new since the last fit, are not what '
                f'{updates} updates leave of a window of {window}'
            )
        if since >= parameters['refit_every']:
            raise StateError(f'since must be below refit_every, not {since}')
        own, self._parameters = self._parameters, parameters
        self._keep(p, array('b', [int(y) for y in labels]), since)
        self._configure(own)


class WindowedPlatt(Windowed):
    """Platt scaling of the last samples: ``sigmoid(a logit(p) + b)``.

    Parameters
    ----------
    window : int
        Number of samples it is fitted to.
    refit_every : int
        Number of labels from one fit to the next; until the first the map is the identity.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit.

    References
    ----------
    Windowed Platt scaling in Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023,
    arXiv:2305.00070, Section 4; the fit is that of `fit_platt`.

    Examples
    --------
    >>> calibrator = WindowedPlatt(window=1000, refit_every=50)
    >>> for _ in range(25):
    ...     calibrator.update(0.9, 1)
    ...     calibrator.update(0.9, 0)
    >>> round(calibrator.predict(0.9), 6)
    0.5
    """

    name: ClassVar[str] = 'windowed_platt'

    def __init__(self, window: int = 1000, refit_every: int = 50, clip: float = 0.01) -> None:
        super().__init__(window=window, refit_every=refit_every, clip=clip)

    def _fit(self, p: Floats, y: Integers) -> PlattMap:
        return fit_platt(p, y, self._parameters['clip'])


class WindowedIsotonic(Windowed):
    """Isotonic regression of the last samples.

    Parameters
    ----------
    window : int
        Number of samples it is fitted to.
    refit_every : int
        Number of labels from one fit to the next; until the first the map is the identity.
    smooth : bool
        Whether block values are smoothed, so that none is 0 or 1; see `fit_isotonic`.
    interpolate : bool
        Straight lines between the blocks in place of a staircase.

    Examples
    --------
    >>> calibrator = WindowedIsotonic(window=1000, refit_every=4)
    >>> for p, y in [(0.7, 0), (0.8, 1), (0.9, 0), (1.0, 1)]:
    ...     calibrator.update(p, y)
    >>> [calibrator.predict(p) for p in (0.5, 0.8, 0.9, 1.0)]
    [0.25, 0.5, 0.5, 0.75]
    """

    name: ClassVar[str] = 'isotonic'

    def __init__(
        self,
        window: int = 1000,
        refit_every: int = 50,
        smooth: bool = True,
        interpolate: bool = False,
    ) -> None:
        super().__init__(
            window=window, refit_every=refit_every, smooth=smooth, interpolate=interpolate
        )

    def _fit(self, p: Floats, y: Integers) -> IsotonicMap:
        return fit_isotonic(p, y, self._parameters['smooth'], self._parameters['interpolate'])


class WindowedTemperature(Windowed):
    """Temperature scaling of the last samples: ``sigmoid(logit(p) / T)``.

    It is fitted to the smoothed targets of Platt scaling, so that a window without a mistake does
    not make it certain.

    Parameters
    ----------
    window : int
        Number of samples it is fitted to.
    refit_every : int
        Number of labels from one fit to the next; until the first the map is the identity.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` before the logit.

    Examples
    --------
    >>> calibrator = WindowedTemperature(window=1000, refit_every=1000)
    >>> for _ in range(250):
    ...     for p, y in [(0.9, 1), (0.9, 1), (0.9, 0), (0.1, 0)]:
    ...         calibrator.update(p, y)
    >>> round(calibrator.predict(0.9), 3)
    0.749
    """

    name: ClassVar[str] = 'windowed_temperature'

    def __init__(self, window: int = 1000, refit_every: int = 50, clip: float = 0.01) -> None:
        super().__init__(window=window, refit_every=refit_every, clip=clip)

    def _fit(self, p: Floats, y: Integers) -> PlattMap:
        return fit_binary_temperature(p, y, self._parameters['clip'], smooth=True)
