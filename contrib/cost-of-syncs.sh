#!/usr/bin/env bash
# What `iosched stat --detail syncs` adds to system calls and context switches, which it looks at on the whole machine: for a
# machine on which nobody is in fsync, and beside a program that always is. Rounds with and without it alternate.
# Needs root and fio. Usage: contrib/cost-of-syncs.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-7} iosched=${IOSCHED:-target/release/iosched}
work=$(mktemp -d)
truncate -s 256M "$work/disk"
loop=$(losetup -f --show "$work/disk")
mkfs.ext4 -q "$loop"
mkdir "$work/mounted"
mount "$loop" "$work/mounted"
stat='' fsyncs=''
end() {
	[[ -z $stat ]] || kill "$stat" 2>/dev/null || true
	[[ -z $fsyncs ]] || kill "$fsyncs" 2>/dev/null || true
	wait
	umount "$work/mounted" && losetup -d "$loop" && rm -r "$work"
}
trap end EXIT

ns() { date +%s%N; }
# Nanoseconds for each system call: dd reads and writes a byte at a time.
calls() {
	local count=500000 begin
	begin=$(ns)
	dd if=/dev/zero of=/dev/null bs=1 count=$count status=none
	echo $((($(ns) - begin) / (2 * count)))
}
# Nanoseconds for each message through two pipes and back, which is two context switches on one CPU.
switches() {
	taskset -c 0 python3 - <<'END'
import os, time
there, back, count = os.pipe(), os.pipe(), 50000
if os.fork() == 0:
    for _ in range(count):
        os.read(there[0], 1)
        os.write(back[1], b"x")
    os._exit(0)
begin = time.monotonic_ns()
for _ in range(count):
    os.write(there[1], b"x")
    os.read(back[0], 1)
print((time.monotonic_ns() - begin) // count)
END
}
attach() {
	"$iosched" stat "$(basename "$loop")" --detail "$1" --interval 1 --json >/dev/null 2>&1 &
	stat=$!
	sleep 1
}
detach() {
	kill "$stat"
	wait "$stat" || true
	stat=''
}
median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

for beside in nobody somebody; do
	if [[ $beside == somebody ]]; then
		fio --name=db --directory="$work/mounted" --rw=randwrite --bs=4k --size=16m --fsync=1 --rate_iops=500 \
			--time_based --runtime=1h --output=/dev/null &
		fsyncs=$!
		sleep 2
	fi
	for ((round = 0; round < rounds; round++)); do
		for detail in waits syncs; do
			attach "$detail"
			calls >>"$work/$beside-calls-$detail"
			switches >>"$work/$beside-switches-$detail"
			detach
		done
	done
	for what in calls switches; do
		echo "$beside in fsync, $what: $(median <"$work/$beside-$what-waits") ns without, $(median <"$work/$beside-$what-syncs") ns with it"
	done
done
