"""``python -m llamactypes`` is the command ``llamactypes``.

The one place in the package that knows the layer above, for the sake of the name.
"""

from __future__ import annotations


def main() -> int:
    """Run the command line."""
    from api.cli.main import main as run

    return run()


if __name__ == "__main__":
    raise SystemExit(main())
