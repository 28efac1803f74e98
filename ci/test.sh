#!/usr/bin/env bash
# Everything that must hold before a change lands: builds the release tree and runs its tests, then builds with
# AddressSanitizer and UndefinedBehaviorSanitizer and runs them again, and gives the parsers to libFuzzer for a minute. The
# checks of the tree itself (tests/tidy) are among the tests. The last line counts: "N passed, N failed"; the exit status is 0 when nothing failed.
#
#   ci/test.sh [PRESET...]      the presets to test, without the parsers (default: release asan, and the parsers)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
presets=("$@")
parsers=no
[ ${#presets[@]} -gt 0 ] || { presets=(release asan); parsers=yes; }
jobs=$(nproc 2>/dev/null || echo 2)
passed=0
failed=0

ci/setup.sh
for preset in "${presets[@]}"; do
  printf '== %s: build\n' "$preset"
  if ! cmake --preset "$preset" || ! cmake --build --preset "$preset" -j "$jobs"; then
    printf '== %s: the build failed\n' "$preset"
    failed=$((failed + 1))
    continue
  fi
  printf '== %s: tests\n' "$preset"
  log=build/$preset/ctest.log
  ctest --preset "$preset" -j "$jobs" 2>&1 | tee "$log" || true
  # "100% tests passed, 0 tests failed out of 11" is ctest's own count.
  counts=$(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+)$/\1 \2/p' "$log" | tail -n 1)
  if [ -z "$counts" ]; then
    printf '== %s: ctest gave no count\n' "$preset"
    failed=$((failed + 1))
    continue
  fi
  failed=$((failed + ${counts% *}))
  passed=$((passed + ${counts#* } - ${counts% *}))
done

if [ "$parsers" = yes ]; then
  printf '== parsers under libFuzzer\n'
  status=0
  ci/parsers.sh || status=$?
  case $status in
    0) passed=$((passed + 1)) ;;
    77) ;;  # no clang with libFuzzer, as it has said
    *) failed=$((failed + 1)) ;;
  esac
fi

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
