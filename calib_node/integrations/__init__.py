# SPDX-License-Identifier: Apache-2.0
"""Adapters to other libraries; each module imports its library only when it is itself imported."""
