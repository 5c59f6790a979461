"""python -m zeroloss.report: the command `zeroloss report`."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
