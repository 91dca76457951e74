#!/usr/bin/env bash
# How close our engine and server come to raw llama-batched-bench on a GPU.
#
#   benchmarks/gpu_check.sh LIBRARY BENCH OUTPUT [SHAPE…]
#
#   LIBRARY  folder with a CUDA build of libllama (build_scripts/build_cuda.sh)
#   BENCH    llama-batched-bench of the same llama.cpp build (--with-peers), in a folder
#            with its libraries; it is run on LIBRARY, so a CPU build's will do
#   OUTPUT   folder for the figures; models and copies are made in it, and removed
#   SHAPE    1b, 8b, tiny; default: 1b 8b
#
# No network, nothing is installed: PYTHON (default: python3) needs numpy, falcon,
# waitress and jinja2. It ends within SECONDS_LIMIT (default: 570) in all. STREAMS,
# TOKENS and THREADS change what is run. Run it from the root of the repository.
set -euo pipefail

if (($# < 3)); then
    sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
library=$(realpath "$1")
bench=$(realpath "$2")
mkdir -p "$3"
output=$(realpath "$3")
shift 3
shapes=("$@")
(($#)) || shapes=(1b 8b)
python=${PYTHON:-python3}
ends_at=$((SECONDS + ${SECONDS_LIMIT:-570}))

export LLAMACTYPES_LIB=$library
# ggml looks for its backends beside the program: put LIBRARY's there, over its own.
work=$output/bin
trap 'rm -rf "$work" "$output"/*.gguf' EXIT
mkdir -p "$work"
cp -L "$(dirname "$bench")"/*.so* "$bench" "$work"
cp -L "$library"/*.so* "$work"
bench=$work/$(basename "$bench")

{
    date -u +"%Y-%m-%d %H:%M UTC"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm --format=csv \
        || echo "no nvidia-smi: this is a rehearsal without a GPU"
    nproc
    "$python" -m api doctor || true
} >"$output/machine.txt" 2>&1
cat "$output/machine.txt"

status=0
for shape in "${shapes[@]}"; do
    left=$((ends_at - SECONDS))
    if ((left < 20)); then
        echo "$shape: no time left" | tee -a "$output/machine.txt"
        status=1
        break
    fi
    model=$output/$shape.gguf
    echo "== $shape"
    time timeout "$left" "$python" -m benchmarks.gpu_model "$shape" "$model"
    left=$((ends_at - SECONDS))
    timeout --kill-after=5 "$left" "$python" -m benchmarks.gpu_run "$model" \
        --bench "$bench" --seconds $((left - 10)) --json "$output/$shape.json" \
        --threads "${THREADS:-1}" --tokens "${TOKENS:-128}" \
        --streams ${STREAMS:-1 32 128} || status=1
    rm -f "$model"
done
exit $status
