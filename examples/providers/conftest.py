"""Makes the shapes importable from the project's root, where nothing is installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
