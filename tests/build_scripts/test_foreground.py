from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "build_scripts" / "foreground.py"

SERVER = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
print("ready", flush=True)
signal.pause()
"""

# Runs make on a terminal of its own, presses Ctrl-C, and exits with make's status.
TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("make", ["make", "-f", sys.argv[1]])
seen = b""
while b"ready" not in seen:
    seen += os.read(terminal, 1024)
os.write(terminal, b"\\x03")
status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
"""


@pytest.fixture
def makefile(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    path = tmp_path / "Makefile"
    path.write_text(
        f"run:\n\t@exec {sys.executable} {SCRIPT} {sys.executable} {server}\n"
    )
    return path


def test_ctrl_c_under_make_ends_with_the_commands_status(makefile):
    driver = [sys.executable, "-c", TERMINAL, str(makefile)]
    assert subprocess.run(driver, timeout=30, check=False).returncode == 0


def test_without_a_terminal_the_command_runs_as_it_is():
    command = [sys.executable, str(SCRIPT), sys.executable, "-c", "print('ran')"]
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=True
    )
    assert result.stdout.strip() == b"ran"
