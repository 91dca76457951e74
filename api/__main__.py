"""``python -m api`` is the command ``llamactypes``."""

from api.cli.main import main

raise SystemExit(main())
