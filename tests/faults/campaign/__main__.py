"""Start the campaign, as a folder (`python tests/faults/campaign`) or as a module."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from campaign.command import main  # noqa: E402  # its folder had to be found first

if __name__ == "__main__":
    main()
