# SPDX-License-Identifier: Apache-2.0
"""The defaults that depend on the method and the number of classes."""

from __future__ import annotations

from functools import lru_cache

from calib_node.core.calibrators import create, create_multiclass
from calib_node.core.calibrators.parameters import Parameter


@lru_cache
def default_parameters(method: str, classes: int = 1) -> dict[str, Parameter]:
    """Return the parameters of a method with its own defaults."""
    made = create(method) if classes == 1 else create_multiclass(method, classes)
    return made.parameters()
