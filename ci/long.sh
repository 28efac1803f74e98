#!/usr/bin/env bash
# The long runs, whose figures are quoted and which no change waits for: a million random cases on the reference with all
# oracles, every case of the default bound in 3 dims, 20,000 sequences, 100,000 cases with injected faults, and the score of the
# search. A quarter of an hour on two cores, and more for the score.
#
#   ci/long.sh [FOLDER]      where the outputs go (default build/long)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build/long}
binary=build/release/reshardcheck
jobs=$(nproc 2>/dev/null || echo 2)
[ -x "$binary" ] || { printf 'ci/long.sh: no %s; first: cmake --preset release && cmake --build --preset release\n' "$binary" >&2; exit 3; }
mkdir -p "$out"
failed=0

# try NAME ARGUMENTS...: runs the binary and says how it ended.
try() {
  local name=$1 status=0 begin=$SECONDS
  shift
  "$binary" "$@" >"$out/$name.txt" 2>&1 || status=$?
  printf '%-12s exit %d after %d s: %s\n' "$name" "$status" $((SECONDS - begin)) "$(tail -n 1 "$out/$name.txt")"
  [ "$status" -eq 0 ] || failed=1
}

try million fuzz --cases 1000000 --seed 1 --oracles all --quiet
try bound enumerate --max-ranks 8 --max-dims 3 --max-extent 5 --jobs "$jobs" --quiet
try sequences fuzz --sequences --cases 20000 --seed 1 --quiet
try faults fuzz --faults --cases 100000 --seed 1 --quiet
try power bench power --jobs "$jobs"
exit "$failed"
