"""What the package is: its version and where it is installed."""

from pathlib import Path

__version__ = "0.9.0"
PACKAGE = Path(__file__).parent
