#!/usr/bin/env bash
# Installs what a build needs from Debian or Ubuntu packages: only what is missing, and silently when nothing is.
# Works as root, or with sudo. Optional packages that cannot be had are named and left out.
#
#   ci/setup.sh
set -euo pipefail

required=(cmake ninja-build g++ ccache pkg-config python3 librapidcheck-dev libgtest-dev libboost-context-dev
          libcli11-dev nlohmann-json3-dev libfmt-dev libxxhash-dev)
optional=(clang libopenmpi-dev openmpi-bin python3-numpy)

fail() {
  printf 'ci/setup.sh: %s\n' "$*" >&2
  exit 3
}

# missing PACKAGE...: those that are not installed, one a line.
missing() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s\n' "$package"
  done
}

command -v dpkg-query >/dev/null || fail "this system has no dpkg; install by hand: ${required[*]}"
mapfile -t wanted < <(missing "${required[@]}")
mapfile -t extras < <(missing "${optional[@]}")
[ $((${#wanted[@]} + ${#extras[@]})) -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    [ ${#wanted[@]} -gt 0 ] || exit 0
    fail "not root and no sudo; as root: apt-get install ${wanted[*]}"
  }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() {
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1
}

printf 'ci/setup.sh: installing %s\n' "${wanted[*]-} ${extras[*]-}"
apt_get update || printf 'ci/setup.sh: apt-get update failed; going on with the lists at hand\n' >&2
if [ ${#wanted[@]} -gt 0 ]; then
  apt_get install -y --no-install-recommends "${wanted[@]}" ||
    fail "apt-get install failed: $(grep -m 1 '^E:' "$log" || tail -n 1 "$log")"
fi
if [ ${#extras[@]} -gt 0 ] && ! apt_get install -y --no-install-recommends "${extras[@]}"; then
  printf 'ci/setup.sh: going on without the optional %s\n' "${extras[*]}" >&2
fi
