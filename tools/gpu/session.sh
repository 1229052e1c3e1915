#!/bin/bash
# All that is to be learned on a machine with a GPU, in one run of about three minutes on 16 cores: what `make gpu-bundle gpu-calls` wrote is
# checked, replayed under NVIDIA's memory checker where it is installed, timed and profiled.
#     bash tools/gpu/session.sh FOLDER_OF_THE_BUNDLES FOLDER_FOR_LOGS
set -u
bundles=$1 out=$2 here=$(cd "$(dirname "$0")" && pwd)
export PYTHONUNBUFFERED=1
mkdir -p "$out"
check="timeout -k 5 100 python3 $here/check.py $bundles/gpu-check.tierup"
replay="python3 $here/replay.py $bundles/gpu-calls.tierup"

{ nvidia-smi | head -15; python3 -V; python3 -m pip list 2>/dev/null | grep -iE '^(cuda-bindings|numpy|torch|nvidia-cublas) '; } > "$out/machine.log" 2>&1

names=$($check --names)
part() {  # every fourth program, the host's work being most of a check
  local only=()
  for name in $(echo "$names" | awk "NR % 4 == $1"); do only+=(--only "$name"); done
  $check --no-timing "${only[@]}" > "$out/check$1.log" 2>&1
}
for i in 0 1 2 3; do part $i & done
timeout -k 5 100 $replay > "$out/replay.log" 2>&1 &
command -v compute-sanitizer > "$out/memcheck.log" && timeout -k 5 100 compute-sanitizer --tool memcheck $replay --once --every 7 >> "$out/memcheck.log" 2>&1 &
wait

$check --no-checks > "$out/timing.log" 2>&1
python3 "$here/first.py" --floor > "$out/first.log" 2>&1
python3 "$here/first.py" "$bundles/gpu-check.tierup" >> "$out/first.log" 2>&1
command -v ncu > /dev/null && timeout -k 5 60 ncu --clock-control none --set full --page details -c 24 \
  $check --no-checks --minutes 0.2 --only scale --only total --only column_sums --only softmax --only transpose --only product_bf16 > "$out/ncu.log" 2>&1

cat "$out/machine.log" "$out/first.log"
tail -n 3 "$out/memcheck.log"
tail -n 20 "$out/replay.log"
grep -h '^|' "$out"/check?.log
cat "$out/timing.log"
