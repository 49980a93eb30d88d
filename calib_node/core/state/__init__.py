# SPDX-License-Identifier: Apache-2.0
"""The state file: written so that a power cut never costs what was learned, read with suspicion.

The only part of the core that reads or writes files. It calls nothing of ROS.
"""

from __future__ import annotations

from calib_node.core.state.disk import read_document
from calib_node.core.state.document import FORMAT, VERSION, make_document, restore_document
from calib_node.core.state.file import StateFile, StateFileInUse

__all__ = [
    'FORMAT',
    'VERSION',
    'StateFile',
    'StateFileInUse',
    'make_document',
    'read_document',
    'restore_document',
]
