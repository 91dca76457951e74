"""``python -m api`` is the command ``llamactypes``."""

from api.cli import main

raise SystemExit(main())
