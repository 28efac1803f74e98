#!/usr/bin/env bash
# Gives every parser of untrusted text (cases, JSON, corpus files, protocol lines, tensor files) to libFuzzer, with
# AddressSanitizer and UndefinedBehaviorSanitizer, for a minute all together.
#
#   ci/parsers.sh [SECONDS]      default 60
#
# Exits 0 when nothing was found, 1 when a parser broke: the input that broke it is left in build/parsers. Where there is no
# clang with libFuzzer it says so and exits 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}

compiler=""
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
printf 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n' >"$probe/probe.cc"
for candidate in clang++ $(compgen -c clang++- | grep -E '^clang\+\+-[0-9]+$' | sort -u); do
  if command -v "$candidate" >/dev/null && "$candidate" -fsanitize=fuzzer,address,undefined "$probe/probe.cc" -o "$probe/probe" 2>/dev/null; then
    compiler=$candidate
    break
  fi
done
if [ -z "$compiler" ]; then
  printf 'ci/parsers.sh: left out, no clang with libFuzzer (apt-get install clang)\n'
  exit 77
fi

cmake --preset parsers -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_C_COMPILER="${compiler/clang++/clang}" >/dev/null
cmake --build --preset parsers -j "$(nproc 2>/dev/null || echo 2)"
mapfile -t programs < <(find build/parsers/tests/parsers -maxdepth 1 -type f -name 'parse_*' -perm -u+x | sort)
[ ${#programs[@]} -gt 0 ] || { printf 'ci/parsers.sh: no parser was built\n' >&2; exit 3; }
share=$(( (seconds + ${#programs[@]} - 1) / ${#programs[@]} ))
corpus=build/parsers/corpus
mkdir -p "$corpus"
# What to start from: the cases that are kept in the tree, one a file.
grep -hv '^#' golden/*.cases 2>/dev/null | grep . | awk -v folder="$corpus" 'NR % 40 == 1 { name = folder "/golden-" NR; printf "%s", $0 > name; close(name) }'
# fuzz PROGRAM: a line of how it went; status 1 when the parser broke.
fuzz() {
  local program=$1 name log
  name=$(basename "$program")
  log=build/parsers/$name.log
  mkdir -p "$corpus/$name"
  if "$program" -max_total_time="$share" -max_len=4096 -rss_limit_mb=2048 -timeout=10 -verbosity=0 -print_final_stats=1 \
       -dict=tests/parsers/words.dict -artifact_prefix="build/parsers/$name-" "$corpus/$name" "$corpus" >"$log" 2>&1; then
    printf '%-22s %s inputs\n' "$name" "$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf '%-22s BROKE: %s\n' "$name" "$(grep -m 1 -E 'ERROR|is false|runtime error' "$log" || tail -n 1 "$log")"
    return 1
  fi
}
export -f fuzz
export share corpus
printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P "$(nproc 2>/dev/null || echo 2)" bash -c 'fuzz "$0"' || exit 1
