"""`python -m sqlext …` is `sqlext …`. spark-submit runs this file, too."""

import os
import sys

# spark-submit runs this file by its path, and Python then looks first into its folder, which has a module `pandas`.
_FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _FOLDER]

from sqlext.cli.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
