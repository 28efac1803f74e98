#!/usr/bin/env bash
# The five-minute tour: sets up, builds, searches the reference implementation for 20 seconds (it should find
# nothing), then searches one with a seeded bug (it should find it, and make the layout that shows it small).
#
#   ci/quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*"; }

say 'Setting up and building (a few minutes the first time)'
ci/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target reshardcheck
binary=build/release/reshardcheck
out=build/quickstart  # kept, so that the commands that are printed work
rm -rf "$out"

say '1. Twenty seconds of random layouts on the reference implementation'
reference_status=0
"$binary" fuzz --subject reference --seconds 20 --seed 1 --out "$out/reference" || reference_status=$?

say '2. The same search on an implementation with a seeded bug: several mesh axes on one dim are read as one flat axis'
mutant_status=0
"$binary" fuzz --subject mutant:flat-chunk --cases 2000 --seed 1 --out "$out/mutant" || mutant_status=$?

say '3. The layout it found, who owns what in it, and the same layout on the reference'
found=$(find "$out/mutant" -path '*crashing*' -name '*.case' | sort | head -n 1)
mutant_again=0 reference_again=0
if [ -n "$found" ]; then
  minimal=$(grep -v '^#' "$found" | head -n 1)
  "$binary" explain "$minimal"
  "$binary" run "$minimal" --subject mutant:flat-chunk || mutant_again=$?
  "$binary" run "$minimal" --subject reference || reference_again=$?
fi

say 'What this showed'
[ "$reference_status" -eq 0 ] || { echo 'The search found a layout on which the reference goes wrong: please report it.'; exit 1; }
echo 'The reference delivered every byte of every layout that the search tried to its place.'
if [ "$mutant_status" -ne 1 ] || [ -z "$found" ] || [ "$mutant_again" -ne 1 ] || [ "$reference_again" -ne 0 ]; then
  echo 'But the seeded bug was not found and replayed: this build is not to be trusted.'
  exit 3
fi
cat <<TEXT
The seeded bug was found, and the layout that shows it was made as small as it gets:

    $minimal

On it the reference passes and the buggy implementation does not, every time. To see it again:

    $binary run '$minimal' --subject mutant:flat-chunk

Next: README.md says how to judge your own implementation.
TEXT
