# SPDX-License-Identifier: Apache-2.0
"""One page that says whether the numbers were honest, are now, and what to do with them."""
