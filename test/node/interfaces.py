# SPDX-License-Identifier: Apache-2.0
"""The message packages that scripts/test builds for the tests: vision_msgs, and shapes of ours."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest


def interfaces() -> tuple[ModuleType, ModuleType]:
    """Return ``vision_msgs.msg`` and ``calib_test_shapes.msg``, or skip the test that asks.

    With a sourced ROS that has vision_msgs it is the real one, else what test/interfaces has in its
    place.
    """
    try:
        vision, shapes = map(importlib.import_module, ('vision_msgs.msg', 'calib_test_shapes.msg'))
    except ImportError as error:
        pytest.skip(f'{error}: scripts/test builds it where there is a C++ compiler and Python.h')
    return vision, shapes
