"""`python -m tests.playground.picture FILE`: takes the picture of docs/playground.md."""

import sys
from pathlib import Path

from tests.playground.browser import take_picture

if __name__ == "__main__":
    take_picture(Path(sys.argv[1]))
