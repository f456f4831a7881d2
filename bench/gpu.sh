#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all GPU benchmarks and their peers, one after another, and collects their figures in
# OUT_DIR/gpu.json, with timelines (for timeline.py) beside it. A failed case is reported there.
#   bench/gpu.sh OUT_DIR
# Environment: BUILD, the build folder (default build); PYTHON, one that has CuPy (default python3).
set -u
[ $# -eq 1 ] || { sed -n 's/^# \{0,1\}//; 2,5p' "$0" >&2; exit 2; }
bench=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$bench/../build}
python=${PYTHON:-python3}
mkdir -p "$1" || exit 1
out=$(cd "$1" && pwd)
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT

# run COMMAND…: writes the command's output, errors and exit code to files, which are read at the end.
count=0
failed=0
run() {
    count=$((count + 1))
    local name status=0
    name=$runs/$(printf %03d "$count")
    echo "$(date +%T) $*" | sed "s|$build/||; s|$bench/||; s|$out/||" | tee "$name.command" >&2
    timeout 300 "$@" > "$name.out" 2> "$name.err" || status=$?
    echo "$status" > "$name.status"
    [ "$status" -eq 0 ] || { failed=1; echo "exit code $status: $(tail -n 1 "$name.err")" >&2; }
}

timeout 120 "$build/cli/convolume" doctor --json > "$runs/doctor.json"
gpus=$("$python" -c 'import json, sys
print(sum(gpu["usable"] for gpu in json.load(open(sys.argv[1]))["cuda"]["devices"]))' "$runs/doctor.json") || gpus=0
echo "$gpus GPUs" >&2

gpu_bench=$build/bench/convolume_gpu_bench
run "$gpu_bench" hosts512
run "$gpu_bench" library512
run "$gpu_bench" uint16 float32
for n in 1 2 4; do
    [ "$n" -le "$gpus" ] || continue
    for case in tiled1024 dif1024; do
        run "$gpu_bench" $case --gpus $n --timeline "$out/$case-$n.json"
    done
done
if [ "$gpus" -gt 1 ]; then
    most=$([ "$gpus" -ge 4 ] && echo 4 || echo 2)
    for gate in global per-link off; do
        run "$gpu_bench" tiled1024 --gpus "$most" --gate $gate
    done
fi
# Benchmarks within device memory, if they are built.
[ -x "$build/bench/convolume_gpu_device_bench" ] && run "$build/bench/convolume_gpu_device_bench"
run "$python" "$bench/gpu_peers.py"

PYTHONUTF8=1 "$python" - "$runs" > "$out/gpu.json" <<'COLLECT' || failed=1
import datetime, json, subprocess, sys
from pathlib import Path

def json_of(text):
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}

runs = Path(sys.argv[1])
doctor = json_of((runs / "doctor.json").read_text())
try:
    asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                           capture_output=True, text=True, timeout=30)
    driver = asked.stdout.split("\n")[0].strip()
except (OSError, subprocess.SubprocessError):
    driver = ""
names = [gpu["name"] for gpu in doctor.get("cuda", {}).get("devices", [])]
gpus = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) or "no GPU"
results, failures = [], []
for command_file in sorted(runs.glob("*.command")):
    command = command_file.read_text().strip().split(" ", 1)[1]
    for line in command_file.with_suffix(".out").read_text().splitlines():
        if result := json_of(line):
            results.append({"command": command, **result})
    status = int(command_file.with_suffix(".status").read_text())
    if status:
        failures.append({"command": command, "exit_code": status,
                         "stderr": command_file.with_suffix(".err").read_text()[-2000:]})
print(json.dumps({"machine": f"{gpus}; {doctor.get('processor', 'unknown processor')}",
                  "date": datetime.date.today().isoformat(), "driver": driver, "doctor": doctor,
                  "failures": failures, "results": results}, indent=1, ensure_ascii=False))
COLLECT
exit $failed
