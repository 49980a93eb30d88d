# SPDX-License-Identifier: Apache-2.0
"""The protocol that every calibrator follows."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol


class StateError(ValueError):
    """A saved state that cannot be used; its text says why in one sentence."""


class Calibrator(Protocol):
    """Maps a probability to a calibrated one, and learns from labels that may come late.

    ``issue`` makes a forecast and a ticket, which holds what the forecast was made of. The ticket
    comes back with the label, so that a method is judged on the forecast that went out and not
    on one it would make today.
    """

    name: ClassVar[str]

    @property
    def updates(self) -> int:
        """Number of labels learned."""

    def predict(self, p: float) -> float:
        """Return the calibrated probability of `p` and keep nothing."""

    def issue(self, p: float) -> tuple[float, Any]:
        """Return the calibrated probability of `p` and the ticket for its label."""

    def update(self, p: float, y: int, ticket: Any = None) -> None:
        """Learn that the forecast made of `p` had outcome `y`; no ticket means issued just now.

        Raises
        ------
        ValueError
            If `p` is outside [0, 1] or `y` is neither 0 nor 1.
        UpdateNotFinite
            If the update would not be finite; nothing has changed then.
        """

    def reset(self) -> None:
        """Forget everything learned."""

    def parameters(self) -> dict[str, float]:
        """Return the values of the method's parameters by name."""

    def configure(self, **parameters: float) -> None:
        """Change parameters of the running calibrator: all of them, or on an error none."""

    def state(self) -> dict[str, Any]:
        """Return all that was learned as plain numbers, lists and dicts, ready for YAML."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a saved state; the calibrator's own parameters win over the saved ones.

        Raises
        ------
        StateError
            If it is not a sound state of this method; nothing has changed then.
        """
