#!/usr/bin/env bash
# Whether the cost of watching has moved: `iosched stat` beside biolatency, judged by `iosched-ab gate` against the nights before.
# Usage: contrib/nightly.sh DIRECTORY [OPTION...]: the results of each night stay in DIRECTORY; options go to the bench `overhead`.
# Exit code: the worst of `iosched-ab gate`, 3 if a ratio is worse than its own interval allows. The first night passes.
set -euo pipefail
directory=${1:?usage: contrib/nightly.sh DIRECTORY [OPTION...]}
shift
directory=$(mkdir -p "$directory" && realpath "$directory")
cd "$(dirname "$0")/.."
contrib/setup.sh build bench
cargo build --release --locked --workspace --exclude iosched-vmtest
night=$directory/$(date -u +%Y-%m-%dT%H%M%SZ)
cargo bench --locked --bench overhead -- --few --results "$night.new" "$@"
# A ratio that was not measured has not passed: not all of them, and none that an earlier night has.
compgen -G "$night.new/*.json" >/dev/null || { echo "nightly: the bench wrote no result" >&2; exit 1; }
for earlier in "$directory"/*Z/*.json; do
	[[ ! -e $earlier || -e $night.new/${earlier##*/} ]] || { echo "nightly: ${earlier##*/} was not measured this night" >&2; exit 1; }
done
worst=0
for result in "$night.new"/*.json; do
	baselines=("$directory"/*Z/"${result##*/}")
	if [[ ! -e ${baselines[0]} ]]; then
		echo "nightly: ${result##*/}: no night before, so nothing is judged"
		continue
	fi
	code=0
	target/release/iosched-ab gate "$result" --baseline "${baselines[@]}" || code=$?
	((code <= worst)) || worst=$code
done
# A night that failed is none that others are compared with.
if ((worst == 0)); then mv "$night.new" "$night"; else mv "$night.new" "$night.failed"; fi
exit "$worst"
