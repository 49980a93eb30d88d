# SPDX-License-Identifier: Apache-2.0
"""Calibration of one probability per class."""
