# SPDX-License-Identifier: Apache-2.0
"""A mixture of the other methods."""

from calib_node.core.calibrators.mixture.mixture import Mixture

__all__ = ['Mixture']
