"""`python -m sqlext …` is `sqlext …`. spark-submit runs this file, too."""

import sys

from sqlext.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
