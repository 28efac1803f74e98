#!/usr/bin/env bash
# The installed package must be enough to judge an implementation from outside this tree: installs the build into an
# empty folder, builds tests/package against it alone, and runs the result with and without its seeded bug.
#
#   tests/package/package_test.sh BUILD_FOLDER CXX_COMPILER [CMAKE_ARGUMENT...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
compiler=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/installed" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/installed/bin/reshardcheck" --version
test -f "$work/installed/share/reshardcheck/golden/m2n_matrix.cases"

build_outside() {
  cmake -S "$here" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$work/installed" \
    -DCMAKE_CXX_COMPILER="$compiler" "$@" && cmake --build "$work/build"
}
build_outside "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

"$work/build/own_subject"
"$work/build/own_planner_test" --gtest_brief=1
status=0
output=$("$work/build/own_subject" --bug) || status=$?
printf '%s\n' "$output"
[ "$status" -eq 1 ] || { echo "the seeded bug was not seen (exit $status)"; exit 1; }
grep -q '^smallest: u8\[' <<<"$output" || { echo 'the failing case was not made small'; exit 1; }
