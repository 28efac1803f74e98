#!/usr/bin/env bash
# The tidy check must fail when it should: each fault is planted alone in a small tree, and tidy.sh must name it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# planted WANTED PATH TEXT: a clean tree with one more file must give a line that contains WANTED.
planted() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/core/layout" "$work/tree/$(dirname "$2")"
  printf '// A clean header.\n' >"$work/tree/core/layout/clean.h"
  printf '%b' "$3" >"$work/tree/$2"
  local output
  if output=$("$here/tidy.sh" "$work/tree"); then
    printf 'not seen: %s in %s\n' "$1" "$2"
    failed=1
  elif ! grep -qF "$1: " <<<"$output"; then
    printf 'wrong report for %s: %s\n' "$2" "$output"
    failed=1
  fi
}

mkdir -p "$work/tree/core/layout"
printf '// A clean header.\n#include "core/layout/other.h"\n' >"$work/tree/core/layout/clean.h"
"$here/tidy.sh" "$work/tree" || { echo 'a clean tree is refused'; failed=1; }

planted 'include points up' core/world/a.cc '#include "verifier/verdict.h"\n'
planted 'include points up' verifier/a.cc '#include "fuzz/campaign.h"\n'
planted 'include points up' fuzz/a.cc '#include "cli/output.h"\n'
planted 'include points up' core/layout/a.cc '#include "core/plan/plan.h"\n'
planted 'include points up' core/plan/a.cc '#include "core/world/world.h"\n'
planted 'pure room reaches outside' core/plan/a.cc '#include <chrono>\n'
planted 'pure room reaches outside' core/layout/a.h '// Words.\n#include <mpi.h>\n'
planted 'long file' core/world/a.cc "$(printf '\\n%.0s' $(seq 601))"
planted 'no opening comment' core/world/a.h '#pragma once\n'
planted 'unfinished' core/world/a.cc "// TO""DO: later\n"
planted 'top-level name' scratch/notes.txt 'words\n'

exit "$failed"
