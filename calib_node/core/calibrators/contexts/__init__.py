# SPDX-License-Identifier: Apache-2.0
"""Calibrators that know the context of a forecast, such as the class or the distance.

One map learns what all contexts share, and each context what is its own.
"""
