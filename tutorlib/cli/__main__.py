"""`python -m tutorlib.cli` is the `tutorlib` command, where the latter is not on the path."""

import sys

from tutorlib.cli.main import main

sys.exit(main())
