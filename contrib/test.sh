#!/usr/bin/env bash
# All tests that this machine can run: first those that need no rights, then the root tests on devices of their
# own (through sudo where we are not root), then the BPF object under each clang. Ends with what was skipped
# and why. With CI=true a group that cannot run is a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0 skipped_groups=()

run() {
	echo "== $*"
	# Passed tests are silent in libtest: --show-output lets them say what they skipped.
	"$@" 2>&1 | tee -a "$log"
	[[ ${PIPESTATUS[0]} -eq 0 ]] || failed=1
}

run cargo test --workspace --locked --no-fail-fast -- --show-output

target=$(rustc -vV | sed -n 's/^host: //p')
runner="CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_RUNNER"
root_tests=(cargo test --workspace --locked --no-fail-fast -- --ignored --test-threads=1 --show-output)
if [[ $EUID -eq 0 ]]; then
	run "${root_tests[@]}"
elif sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo true; }; then
	run env "$runner=sudo -E" "${root_tests[@]}"
else
	skipped_groups+=("root tests: neither root nor sudo")
fi

for clang in clang-14 clang-19; do
	if ! command -v "$clang" >/dev/null; then
		skipped_groups+=("the BPF object built by $clang: it is not installed")
	elif [[ $EUID -ne 0 ]]; then
		skipped_groups+=("the BPF object built by $clang: loading needs root")
	else
		run env CLANG=$clang CARGO_TARGET_DIR=target/$clang cargo test --locked -p iosched-bpf -- --ignored --test-threads=1 --show-output
	fi
done

echo
# To libtest a test that has skipped something has passed.
skips=$(grep -cE '^ *skipped: ' "$log")
passed=$(($(awk '/^test result:/ {sum += $4} END {print sum + 0}' "$log") - skips))
broken=$(awk '/^test result:/ {sum += $6} END {print sum + 0}' "$log")
mapfile -t skipped < <(grep -ohE '^ *skipped: .*' "$log" | sed 's/^ *skipped: //' | sort | uniq -c | sed 's/^ *//')
for reason in "${skipped[@]}"; do echo "skipped ($reason)"; done
for group in "${skipped_groups[@]}"; do
	echo "skipped group: $group"
	[[ ${CI:-} == true ]] && failed=1
done
echo "$passed passed, $broken failed, $skips skipped, groups skipped: ${#skipped_groups[@]}"
[[ $failed -eq 0 && $broken -eq 0 ]]
