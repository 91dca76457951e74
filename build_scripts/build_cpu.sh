#!/bin/sh
# Build the CPU library into llamactypes/lib/. Options go to build_libllama.py.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec "${PYTHON:-python3}" "$here/build_libllama.py" --backend cpu "$@"
