# SPDX-License-Identifier: Apache-2.0
"""Without river the module says what to install, and nothing else needs river."""

from __future__ import annotations

import importlib
import sys

import pytest


def test_missing_river_is_said_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, 'river', None)
    monkeypatch.delitem(sys.modules, 'calib_node.integrations.river', raising=False)
    importlib.import_module('calib_node.integrations')
    with pytest.raises(ImportError, match=r'needs river, .*: pip install river$'):
        importlib.import_module('calib_node.integrations.river')
