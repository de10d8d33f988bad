"""What all Python tests share."""

from __future__ import annotations

import os

# Read when the virtual Instinct is opened, by whichever test comes first: tensors of NumPy and
# PyTorch are the host's memory, and not registered.
os.environ.setdefault("WAVEFIRE_VIRTUAL_HOST_MEMORY", "any")
