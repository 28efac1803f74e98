#!/usr/bin/env bash
# Two "hosts" on one machine: network namespaces with a link between them, four ranks in each, and nothing but that link
# to carry their messages. A campaign passes; the link is cut in the middle of it, which is a verdict within the bound;
# the link comes back, and the campaign goes on to its end.
#
#   tests/mpi/namespaces_test.sh BINARY     needs root and iproute2; exits with 77, and says why, where it cannot run
set -euo pipefail
binary=$(realpath "$1")
cases=100
case_seconds=2
verdict_seconds=15 # the bound, half as much again for a median of slow cases, and what the launcher takes to end

leave_out() {
  echo "left out: $*"
  exit 77
}
[ "$(id -u)" -eq 0 ] || leave_out "making network namespaces needs root"
for tool in ip mpirun unshare hostname python3; do
  command -v "$tool" >/dev/null || leave_out "there is no $tool"
done

folder=$(mktemp -d /tmp/reshardcheck-namespaces-XXXXXX)
near=rcnear$$ far=rcfar$$
export TMPDIR=$folder/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir "$TMPDIR"

# Ends what lives in the namespaces, and them.
clear_away() {
  local namespace process
  for namespace in "$near" "$far"; do
    for process in $(ip netns pids "$namespace" 2>/dev/null || true); do kill -9 "$process" 2>/dev/null || true; done
    ip netns delete "$namespace" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap clear_away EXIT

ip netns add "$near" 2>/dev/null || leave_out "this system makes no network namespaces"
ip netns add "$far"
ip link add rc0 netns "$near" type veth peer name rc0 netns "$far" || leave_out "this system makes no veth links"
ip -n "$near" address add 10.231.77.1/24 dev rc0
ip -n "$far" address add 10.231.77.2/24 dev rc0
for namespace in "$near" "$far"; do
  ip -n "$namespace" link set lo up
  ip -n "$namespace" link set rc0 up
done

# The launch agent: what ssh is between real hosts. A host has a name of its own.
cat >"$folder/agent" <<AGENT
#!/bin/sh
shift
exec ip netns exec $far unshare --uts sh -c "hostname far; \$*"
AGENT
chmod +x "$folder/agent"
launch="mpirun --host 10.231.77.1:4,10.231.77.2:4 -np 8 --oversubscribe --mca plm_rsh_agent $folder/agent"
launch+=" --mca btl tcp,self --mca pml ob1 --mca btl_tcp_if_include rc0 --mca oob_tcp_if_include rc0"
launch+=" --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2"

# shellcheck disable=SC2016  # the inner shell expands its own arguments
# campaign OUT CASES: in the near namespace, in the background; sets `driver`.
campaign() {
  ip netns exec "$near" unshare --uts sh -c 'hostname near; exec "$0" "$@"' "$binary" fuzz --world mpi \
    --launch "$launch" --ranks 2..8 --seed 4 --cases "$2" --stop-after 0 --case-timeout "$case_seconds" --json \
    --subject-output "$folder/printed" >"$1" 2>"$folder/err" &
  driver=$!
}

fail() {
  echo "failed: $*"
  tail -n 3 "$folder/first" "$folder/second" "$folder/err" "$folder/printed" 2>/dev/null | cut -c1-400
  exit 1
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
  local tries=$(($1 * 20))
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 0.05
  done
}
lines_reach() { [ "$(grep -c '"event":"case"' "$1")" -ge "$2" ]; }
has_failed() { grep '"event":"case"' "$1" | grep -qv '"verdict":"pass"'; }
link_bytes() { ip netns exec "$far" cat /sys/class/net/rc0/statistics/rx_bytes; }

before=$(link_bytes)
campaign "$folder/first" 40
wait "$driver" || fail "a campaign over the link ends with $?"
crossed=$(($(link_bytes) - before))
[ "$crossed" -gt 10000 ] || fail "only $crossed bytes crossed the link"
echo "40 cases passed; $crossed bytes crossed the link"

campaign "$folder/second" "$cases"
wait_for 60 lines_reach "$folder/second" 20 || fail "the second campaign does not get to its 20th case"
ip -n "$near" link set rc0 down
cut=$(date +%s%N)
wait_for "$verdict_seconds" has_failed "$folder/second" || fail "no verdict in $verdict_seconds s after the cut"
echo "the link was cut: a verdict after $((($(date +%s%N) - cut) / 1000000)) ms"
ip -n "$near" link set rc0 up
grep '"event":"case"' "$folder/second" | grep -v '"verdict":"pass"' | cut -c1-300

code=0
wait "$driver" || code=$?
lines_reach "$folder/second" "$cases" || fail "the campaign did not go on to its end"
passed=$(tail -n 1 "$folder/second" | python3 -c 'import json, sys; print(json.load(sys.stdin)["verdicts"]["pass"])')
[ "$passed" -ge $((cases - 2)) ] || fail "only $passed of $cases cases passed"
[ "$code" -eq 4 ] || fail "exit code $code: the failed case must pass when it runs again"
echo "the link came back: $passed of $cases cases passed"
