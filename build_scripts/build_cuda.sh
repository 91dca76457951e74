#!/bin/sh
# Build the CPU and CUDA libraries into llamactypes/lib/. Options go to build_libllama.py.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec "${PYTHON:-python3}" "$here/build_libllama.py" --backend cuda "$@"
