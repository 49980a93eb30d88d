# SPDX-License-Identifier: Apache-2.0
"""The node: parameters and messages in, the pipeline, messages and diagnostics out."""
