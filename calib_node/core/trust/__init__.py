# SPDX-License-Identifier: Apache-2.0
"""When a probability is to be trusted, and when no more."""
