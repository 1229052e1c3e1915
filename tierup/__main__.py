"""`python -m tierup`: the command `tierup`."""

import sys

from tierup.tools.main import main

sys.exit(main())
