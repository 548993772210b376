#!/usr/bin/env bash
# Checks that `make demo` and `make test` install everything they need: runs them on bare systems with only make and git,
# each in its own root made with debootstrap. Each takes half an hour, 8 GB and the downloads of a first build.
# Usage: contrib/fresh-machine-test.sh [-d] [SUITE...]; -d: only the demo; without SUITE all three.
# FRESH_DIRECTORY: where the roots are made (default: /var/tmp).
set -euo pipefail
cd "$(dirname "$0")/.."

source contrib/roots.sh
demo_only=
if [[ ${1:-} == -d ]]; then demo_only=1 && shift; fi
choose_suites "$@"

begin_roots "$PWD/contrib/fresh-machine-test.sh" ${demo_only:+-d} "${suites[@]}"

first_line() { grep -n -m1 -- "$1" "$2" | cut -d: -f1; }
rust_comes_first() {
	local rust packages
	rust=$(first_line '^setup: Rust .* is installed' "$1") packages=$(first_line '^setup: installing .*libelf-dev' "$1")
	[[ -n $rust && -n $packages && $rust -lt $packages ]]
}

for suite in "${suites[@]}"; do
	echo "== $suite"
	root=$place/$suite
	if ! make_root "$suite" "$root" make,git,ca-certificates; then
		echo "skipped: cannot make a root directory of $suite"
		continue
	fi
	git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=- --ignore-failed-read | tar -x -C "$root/src"
	log=$root.log
	inside "$root" apt-get update -qq
	step "$log" inside "$root" setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all make demo || true
	expect "$suite" "without root or sudo it prints the commands to run" grep -q '^    apt-get update && apt-get install .*gcc' "$log"
	expect "$suite" "it says how to get Rust" grep -q 'sh.rustup.rs' "$log"
	# On this suite Rust is installed, but too old.
	if [[ $suite == bookworm ]]; then
		inside "$root" apt-get install -y -qq --no-install-recommends cargo >/dev/null 2>&1
	fi
	step "$log" inside "$root" make demo || tail -50 "$log"
	grep '^setup:' "$log" | sed 's/^/  /'
	expect "$suite" "the toolchain is installed first" rust_comes_first "$log"
	expect "$suite" "make demo completes a comparison" grep -q '"status": *"complete"' "$root/src/iosched-ab-demo.json"
	[[ -z $demo_only ]] || continue
	if step "$log" inside "$root" make test; then code=0; else code=1; fi
	grep -E '^(setup:|test .*FAILED|skipped \(|skipped group|[0-9]+ passed|[0-9]+ s: )' "$log" | sed 's/^/  /'
	expect "$suite" "make test passes" test "$code" -eq 0
	for program in promtool xmllint benchstat; do
		expect "$suite" "$program is installed for its test" bash -c "! grep -q 'skipped.*$program' '$log'"
	done
	inside "$root" contrib/setup.sh build demo test >"$root.again" 2>&1
	expect "$suite" "set-up does nothing if everything is installed" test ! -s "$root.again"
done
if [[ ${#failed[@]} -gt 0 ]]; then
	printf 'FAILED: %s\n' "${failed[@]}"
	exit 1
fi
