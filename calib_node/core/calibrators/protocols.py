# SPDX-License-Identifier: Apache-2.0
"""What is asked of a calibrator, of one probability or of one per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from calib_node.core.samples import Floats, P

P_contra = TypeVar('P_contra', contravariant=True)
Q_co = TypeVar('Q_co', covariant=True)


class Forecaster(Protocol[P_contra, Q_co]):
    """What both kinds of calibrator are: one probability or one per class, in and out."""

    def issue(self, p: P_contra, /) -> tuple[Q_co, Any]:
        """Return the calibrated probability of `p` and the ticket for its label."""

    def update(self, p: P_contra, y: int, ticket: Any, /) -> None:
        """Learn that the forecast made of `p` had outcome `y`."""


class PipelineCalibrator(Forecaster[P, P], Protocol[P]):
    """What a pipeline asks of its calibrator."""

    def issue_many(
        self, p: Floats, contexts: Sequence[Any] = (), /
    ) -> tuple[Floats, Sequence[Any]]:
        """Return the calibrated probabilities of the objects of a message, and their tickets."""

    @property
    def name(self) -> str:
        """Name of the method."""

    @property
    def classes(self) -> int:
        """Number of probabilities in a forecast; 1: that of the positive class."""

    @property
    def contextual(self) -> bool:
        """Whether a forecast depends on the context too."""

    def reset(self) -> None:
        """Forget everything learned."""

    def figures(self) -> dict[str, float]:
        """Return what is worth a look while it runs, by name."""
