#!/usr/bin/env bash
# Checks what no compiler checks about the tree: which way includes point, what the pure rooms reach for, how long
# files are, that every file opens with a comment, what stands at the top level, and that nothing says it is unfinished.
#
#   tests/tidy/tidy.sh [ROOT]     prints one line a fault, exits 1 when there is any
set -euo pipefail
root=$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
cd "$root"
faults=0

fault() {
  printf '%s\n' "$*"
  faults=$((faults + 1))
}

# report WHAT LINES: one fault for each line of grep's output.
report() {
  local line
  while IFS= read -r line; do
    [ -z "$line" ] || fault "$1: $line"
  done <<<"$2"
}

# includes PATTERN FOLDER...: include lines of the folders' sources that match.
includes() {
  local pattern=$1
  shift
  local folder folders=()
  for folder in "$@"; do [ -d "$folder" ] && folders+=("$folder"); done
  [ ${#folders[@]} -eq 0 ] || grep -rnE "^#include $pattern" "${folders[@]}" --include='*.h' --include='*.cc' || true
}

# 1. Includes point down: cli -> fuzz -> verifier -> core, and inside core: subject -> world -> plan -> layout.
report 'include points up' "$(includes '"(verifier|fuzz|cli|tests)/' core)"
report 'include points up' "$(includes '"(fuzz|cli|tests)/' verifier)"
report 'include points up' "$(includes '"(cli|tests)/' fuzz)"
report 'include points up' "$(includes '"tests/' cli)"
report 'include points up' "$(includes '"core/(plan|world|subject)/' core/layout)"
report 'include points up' "$(includes '"core/(world|subject)/' core/plan)"
report 'include points up' "$(includes '"core/subject/' core/world)"

# 2. core/layout and core/plan know no network, device, thread, file or clock.
impure='<(mpi|cuda|nccl|thread|mutex|atomic|condition_variable|future|fstream|filesystem|iostream|chrono|ctime|unistd)'
report 'pure room reaches outside' "$(includes "$impure" core/layout core/plan)"

# 3. Files: at most 600 lines, and a comment first.
sources() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@"
  else
    find . -name build -prune -o -name 'build-*' -prune -o -type f -print | sed 's#^\./##' | while IFS= read -r path; do
      for pattern in "$@"; do
        # shellcheck disable=SC2254  # the patterns are meant to match as globs
        case $path in $pattern) printf '%s\n' "$path" ;; esac
      done
    done
  fi
}
while IFS= read -r path; do
  [ -f "$path" ] || continue
  lines=$(wc -l <"$path")
  [ "$lines" -le 600 ] || fault "long file: $path has $lines lines"
done < <(sources '*.h' '*.cc' '*.cu' '*.c' '*.py' '*.sh')
while IFS= read -r path; do
  [ -f "$path" ] || continue
  case $(head -n 1 "$path") in
    //* | '/*'*) ;;
    *) fault "no opening comment: $path" ;;
  esac
done < <(sources '*.h' 'tests/*.cc')

# 4. Nothing says that it is unfinished. (The words are split here so that this file does not name them.)
unfinished="TO""DO|FIX""ME|\\bXX""X\\b|\\bHA""CK\\b|DIS""ABLED_|#if"" 0|GTEST_""SKIP"
while IFS= read -r path; do
  [ -f "$path" ] || continue
  report 'unfinished' "$(grep -nE "$unfinished" "$path" | sed "s#^#$path:#" || true)"
done < <(sources '*.h' '*.cc' '*.c' '*.cu' '*.py' '*.sh' '*.md' 'CMakeLists.txt' '*/CMakeLists.txt')

# 5. The top level holds the rooms and the project's own files.
allowed='^(\..*|CMakeLists\.txt|CMakePresets\.json|README\.md|LICENSE|core|verifier|fuzz|golden|cli|tests|ci)$'
report 'top-level name' "$(sources '*' | cut -d/ -f1 | sort -u | grep -vE "$allowed" || true)"

[ "$faults" -eq 0 ] || printf '%d faults\n' "$faults"
[ "$faults" -eq 0 ]
