#!/usr/bin/env bash
# A long watch of many disks and processes while schedulers change: memory stays flat, and at the end every I/O was counted
# that the kernel counted. MINUTES=30 DISKS=64 PROCESSES=1500 SWITCHES=50 (a minute)
set -euo pipefail
[[ $EUID -eq 0 ]] || exec sudo -E "$0" "$@"
cd "$(dirname "$0")/.."
minutes=${MINUTES:-30} disks=${DISKS:-64} processes=${PROCESSES:-1500} switches=${SWITCHES:-50}
iosched=$PWD/target/release/iosched
place=$(mktemp -d) names=() workers=() watch=
tidy() {
	trap - EXIT
	[[ -z $watch ]] || kill -KILL "$watch" 2>/dev/null || true
	[[ ${#workers[@]} -eq 0 ]] || kill -KILL "${workers[@]}" 2>/dev/null || true
	wait || true
	for name in "${names[@]}"; do losetup -d "/dev/$name" || true; done
	umount "$place" 2>/dev/null || true
	rmdir "$place"
}
trap tidy EXIT
trap 'exit 130' INT TERM
fail() { echo "soak: $*" >&2; exit 1; }

mount -t tmpfs -o size=$((disks * 8 + 512))m soak "$place"
for ((i = 0; i < disks; i++)); do
	truncate -s 8M "$place/$i"
	names+=("$(basename "$(losetup --find --show "$place/$i")")")
done
# The reads of new disks by udev have ended.
udevadm settle 2>/dev/null || true
sleep 5

memory_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$watch/status"; }
# Completed reads, writes and discards.
done_by_kernel() { awk '{ print $1 + $5 + $12 }' "/sys/block/$1/stat"; }
"$iosched" stat --json -i 10 "${names[@]}" >"$place/watch.json" 2>"$place/watch.err" &
watch=$!
until [[ -s $place/watch.json ]]; do
	kill -0 "$watch" 2>/dev/null || fail "stat ended: $(cat "$place/watch.err")"
	sleep 0.2
done
declare -A before
for name in "${names[@]}"; do before[$name]=$(done_by_kernel "$name"); done

# Each keeps one disk in use and starts a short-lived process for each burst.
worker() {
	local disk=/dev/$1
	while :; do
		dd if="$disk" of=/dev/null bs=4k count=64 skip=$((RANDOM % 1900)) iflag=direct status=none || true
		sleep $((processes / 60 + RANDOM % 10))
	done
}
for ((i = 0; i < processes; i++)); do
	worker "${names[i % disks]}" &
	workers+=($!)
done

schedulers=(none mq-deadline kyber bfq)
due=${EPOCHREALTIME/[.,]/}
end=$((SECONDS + minutes * 60)) next=$((SECONDS + 60)) first_kb='' done_switches=0 kb=unknown
while ((SECONDS < end)); do
	name=${names[RANDOM % disks]} scheduler=${schedulers[RANDOM % 4]}
	if grep -qw "$scheduler" "/sys/block/$name/queue/scheduler"; then
		"$iosched" set "$name" "$scheduler" >/dev/null || fail "$name could not be switched to $scheduler"
		done_switches=$((done_switches + 1))
	fi
	kill -0 "$watch" 2>/dev/null || fail "stat ended: $(cat "$place/watch.err")"
	if ((SECONDS >= next)); then
		kb=$(memory_kb)
		: "${first_kb:=$kb}"
		echo "soak: $(((end - SECONDS) / 60)) min left, stat has $kb KiB, $done_switches switches"
		((kb <= first_kb + first_kb / 5 + 8192)) || fail "stat grew from $first_kb to $kb KiB"
		next=$((SECONDS + 60))
	fi
	# A switch takes its time, too.
	due=$((due + 60000000 / switches))
	wait_us=$((due - ${EPOCHREALTIME/[.,]/}))
	((wait_us <= 0)) || sleep "$((wait_us / 1000000)).$(printf %06d $((wait_us % 1000000)))"
done

kill "${workers[@]}" 2>/dev/null || true
wait "${workers[@]}" 2>/dev/null || true
workers=()
# The dd of a worker that was killed, and the interval in which the last I/O ends.
sleep 15
kill -INT "$watch"
wait "$watch" || true
watch=
differ=0 sum=0 set_apart=0 missed=0
# By disk: what was counted (the kernel counts flushes in a field of their own); the I/Os from before a switch that ended
# after it; and those of which no program saw the start or the end. Each of the others is told. One pass: the file is large.
while read -r name ours straddlers unseen; do
	kernel=$(($(done_by_kernel "$name") - before[$name]))
	sum=$((sum + kernel)) set_apart=$((set_apart + straddlers + unseen)) missed=$((missed + unseen))
	[[ $kernel -eq $((ours + straddlers + unseen)) ]] || {
		echo "soak: $name: the kernel counted $kernel, iosched $ours, $straddlers at switches, and missed $unseen" >&2
		differ=1
	}
done < <(jq -n -r 'reduce (inputs | .devices[]) as $disk ({};
		.[$disk.device] as $sums | .[$disk.device] = [
			($sums[0] // 0) + ([$disk.ops[] | select(.op != "flush") | .ios] | add // 0),
			($sums[1] // 0) + $disk.edges.straddlers,
			($sums[2] // 0) + ($disk.quality | .unseen + .lost + .evicted)])
	| to_entries[] | "\(.key) \(.value | map(tostring) | join(" "))"' "$place/watch.json")
[[ $differ -eq 0 ]] || fail "counts differ"
((sum > disks)) || fail "there was no load: $sum I/Os"
# Some kernels hide one completion in thousands from BPF; more would be a fault of ours.
((missed * 200 <= sum)) || fail "$missed of $sum I/Os were missed"
echo "soak: $sum I/Os ($set_apart of them set apart, $missed of those missed, and told so) of $processes processes on $disks disks counted exactly over $minutes min and $done_switches switches; stat had ${first_kb:-unknown} KiB at first and $kb KiB at last"
