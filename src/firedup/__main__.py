"""`python -m firedup` is the same as the command `firedup`."""

from firedup.cli import main

raise SystemExit(main())
