#!/usr/bin/env bash
# Runs all tests that this machine can run: those without root, then the root tests on their own devices (with sudo if
# necessary), then the BPF object of an older clang. At the end it prints the time of each group, and what was skipped and why.
# With CI=true, a group that cannot run is a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/target/tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
log=$(mktemp) part=$(mktemp -d)
trap 'rm -rf "$log" "$part"' EXIT
failed=0 failed_again=0 skipped_groups=() durations=() unstable=()

# Root tests that mostly wait for rounds to end, each on its own device, and measure no time. They run in parallel, the
# longest first. All other root tests run after them.
beside=(experiment each_study interruption study tune elsewhere own_metrics commands scratch_file stuck unjudged
	workload fsync_study disks terminal udev_rules faults foreign kills fio_examples partitions rights panics ci
	switches privileges refusals preflight scheduler)
at_once=8
# Their tests are independent of each other, and take longest.
declare -A threads=([each_study]=2 [experiment]=2)
# These leave the CPUs idle, and are late when others do not; the longest first.
lanes=3
# These write back and drop the caches of the whole machine, or let a loop device go and take it again, which others may
# have by then.
alone=(page_cache consent)
# Excluded, because tests in vmtest/ have the same names.
packages=(--workspace --exclude iosched-vmtest)

run() {
	local name=$1 start=$SECONDS code
	shift
	echo "== $name: $*"
	# --show-output: otherwise libtest hides what passed tests say they skipped.
	"$@" 2>&1 | tee -a "$log"
	code=${PIPESTATUS[0]}
	durations+=("$((SECONDS - start)) s: $name")
	[[ $code -eq 0 ]] || failed=1
	return "$code"
}

# Root tests work on real devices, and a busy machine can delay what they wait for. So up to five that failed run once
# more, one after the other, and are named at the end if they pass then. A test program that crashed is not run again.
run_root_tests() {
	local code=0 failed_before=$failed seen failures failure source name target
	seen=$(wc -l <"$log")
	run "root tests in parallel" run_beside_each_other "$at_once" "${beside[@]}" || code=1
	run "root tests that measure" run_beside_each_other "$lanes" "${measuring[@]}" || code=1
	run "root tests in the libraries, and those that run alone" "${root[@]}" cargo test "${packages[@]}" --locked --no-fail-fast --lib --bins \
		"${alone[@]/#/--test=}" -- \
		--ignored --test-threads=1 --show-output || code=1
	[[ $code -ne 0 ]] || return 0
	mapfile -t failures < <(tail -n "+$((seen + 1))" "$log" | contrib/failed-tests.awk)
	[[ ${#failures[@]} -ge 1 && ${#failures[@]} -le 5 && ${failures[0]} != crashed ]] || return 0
	failed=$failed_before
	for failure in "${failures[@]}"; do
		read -r source name <<<"$failure"
		# The target, as cargo calls it.
		target=(--lib --bins)
		[[ $source != *tests/* ]] || target=(--test "$(basename "$source" .rs)")
		if run "once more: $name" "${root[@]}" cargo test "${packages[@]}" --locked "${target[@]}" -- \
			--include-ignored --test-threads=1 --show-output --exact "$name"; then
			unstable+=("$source: $name")
		else
			failed_again=$((failed_again + 1))
		fi
	done
}

# So many at once. The output of each test is printed in one piece.
run_beside_each_other() {
	local name running=0 most=$1
	shift
	rm -f "$part/failed"
	for name in "$@"; do
		if [[ $running -ge $most ]]; then
			wait -n || true
			running=$((running - 1))
		fi
		(
			code=0
			"${root[@]}" cargo test "${packages[@]}" --locked --test "$name" \
				-- --ignored --test-threads="${threads[$name]:-1}" --show-output \
				>"$part/$name" 2>&1 || code=$?
			exec 9>"$part/lock" && flock 9
			cat "$part/$name"
			[[ $code -eq 0 ]] || touch "$part/failed"
		) &
		running=$((running + 1))
	done
	wait
	[[ ! -e $part/failed ]]
}

# The BPF object of the oldest compiler is tested, too. All other tests use that of bpf/object, see bpf/build.rs.
oldest=clang-14
if ! command -v "$oldest" >/dev/null; then
	skipped_groups+=("the BPF object built with $oldest: $oldest is not installed")
	oldest=
fi
with_oldest_clang() {
	env CLANG="$oldest" CARGO_TARGET_DIR="target/$oldest" "${root[@]}" cargo test --locked -p iosched-bpf --test load "$@"
}

can_be_root=1
# A background job of a shell without job control ignores SIGINT, and so would all programs that the tests start.
own_signals=(env --default-signal=HUP,INT,QUIT)
root=("${own_signals[@]}")
if [[ $EUID -ne 0 ]]; then
	if sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo true; }; then
		target=$(rustc -vV | sed -n 's/^host: //p')
		root+=("CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_RUNNER=sudo -E")
	else
		can_be_root=0
		skipped_groups+=("root tests: neither root nor sudo is available")
	fi
fi

# A build of the tests has more features than what users get: tests that start the programs start these.
[[ ${SHIPPED:-} == built ]] || run "build of what is shipped" contrib/shipped.sh || exit 1
export IOSCHED_SHIPPED_AB="$PWD/target/shipped/iosched-ab" IOSCHED_SHIPPED_TUI="$PWD/target/shipped/iosched"
export IOSCHED_SHIPPED_READ="$PWD/target/shipped/iosched-read"
# Everything is built first, because a compiler would slow down the tests.
run "build" cargo test --workspace --locked --no-run
[[ $can_be_root -eq 0 || -z $oldest ]] || run "build with $oldest" with_oldest_clang --no-run

run "tests without root" "${own_signals[@]}" cargo test --workspace --locked --no-fail-fast -- --show-output
if [[ $can_be_root -eq 1 ]]; then
	measuring=(live stat traps truth postgres)
	for file in tests/*.rs bpf/tests/*.rs tui/tests/*.rs; do
		name=$(basename "$file" .rs)
		if ! grep -q 'ignore = "root"' -r "$file" "${file%.rs}" 2>/dev/null; then continue; fi
		[[ " ${beside[*]} ${measuring[*]} ${alone[*]} " == *" $name "* ]] || measuring+=("$name")
	done
	run_root_tests
	[[ -z $oldest ]] || run "the BPF object built with $oldest" with_oldest_clang -- --ignored --test-threads=1 --show-output
fi

echo
printf '%s\n' "${durations[@]}"
# libtest counts a skipped test as passed.
skips=$(grep -cE '^ *skipped: ' "$log")
passed=$(($(awk '/^test result:/ {sum += $4} END {print sum + 0}' "$log") - skips))
broken=$(($(awk '/^test result:/ {sum += $6} END {print sum + 0}' "$log") - ${#unstable[@]} - failed_again))
mapfile -t skipped < <(grep -ohE '^ *skipped: .*' "$log" | sed 's/^ *skipped: //' | sort | uniq -c | sed 's/^ *//')
for reason in "${skipped[@]}"; do echo "skipped ($reason)"; done
for test in "${unstable[@]}"; do echo "unstable: $test: it failed, and passed when it was run once more"; done
for group in "${skipped_groups[@]}"; do
	echo "skipped group: $group"
	[[ ${CI:-} == true ]] && failed=1
done
echo "$passed passed (${#unstable[@]} unstable), $broken failed, $skips skipped, groups skipped: ${#skipped_groups[@]}, $SECONDS s"
[[ $failed -eq 0 && $broken -eq 0 ]]
