#!/usr/bin/env bash
# The installed package must be enough to judge an implementation from outside this tree: installs the build into an
# empty folder, builds tests/package against it alone, and runs the result with and without its seeded bug; then builds
# the installed example of a subject in C, with no dependency within reach, and lets the installed binary judge it.
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

# The subject in C. Asking for Boost would end the configuration.
cmake -S "$work/installed/share/reshardcheck/example" -B "$work/example" -DCMAKE_PREFIX_PATH="$work/installed" \
  -DCMAKE_DISABLE_FIND_PACKAGE_Boost=TRUE >"$work/log" 2>&1 &&
  cmake --build "$work/example" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work/example"
grep -F '[200,200]' "$work/installed/share/reshardcheck/golden/m2n_matrix.cases" >small.cases
[ "$(wc -l <small.cases)" -ge 12 ] || { echo 'the golden matrix has no small cases'; exit 1; }
"$work/installed/bin/reshardcheck" run --quiet --subject lib:./libexample_subject.so small.cases \
  'u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R via gather_broadcast' \
  'bf16[10,8] 2x2@0 S(0,segments=6|2|2),R -> 3@2 S(0,padded) | refits=3' \
  'i64[7,6,5] 3x2@0 R,S(1,balanced) -> 2x2@0 S(2),S(0) | gap=1' \
  'f64[] 2@0 R -> 3@1 R ; u8[7] 3@0 S(0,cuts=0|5|2) -> 4@0 S(0,pad=4) | world=9'
status=0
output=$("$work/installed/bin/reshardcheck" run --subject lib:./no_such_subject.so 'u8[1] 1@0 R -> 1@1 R' 2>&1) || status=$?
[ "$status" -eq 2 ] || { echo "a library that does not exist was not told (exit $status): $output"; exit 1; }
