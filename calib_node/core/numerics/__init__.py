# SPDX-License-Identifier: Apache-2.0
"""Arithmetic that several layers need, each piece of it once."""
