# SPDX-License-Identifier: Apache-2.0
"""One classifier's stream, message in and message out, on anything that has messages."""
