from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.models import ROOT


def test_the_ten_line_example_generates_text(stories_model_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "examples/generate.py",
            stories_model_path,
            "Once upon a time",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Once upon a time, there was a little girl named Lily." in done.stdout
