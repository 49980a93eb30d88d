# SPDX-License-Identifier: Apache-2.0
"""State files as a node saves them, and what is kept beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from calib_node.core.calibrators import CALIBRATORS, create
from calib_node.core.state.document import make_document


def state_text(updates: int, method: str = 'ops', node: str = '/calib_node', **changed: Any) -> str:
    """Return the text that a node saves after so many updates, some fields changed."""
    calibrator = create(method if method in CALIBRATORS else 'ops')
    for i in range(updates):
        calibrator.update(0.9, i % 2)
    document = {**make_document(calibrator, node), 'method': method}
    document['saved_at'] = '2026-01-01T00:00:00+00:00'
    return yaml.safe_dump({**document, **changed}, sort_keys=False, default_flow_style=None)


def kept(path: Path, why: str) -> Path:
    """Return the one file that was kept beside another for a reason."""
    (aside,) = path.parent.glob(f'{path.name}.{why}-*')
    return aside
