#!/usr/bin/env bash
# Code that only reads results compiles for platforms that have neither BPF nor /proc: the pure crate for any, the program for
# macOS. It is compiled, not run; tests/report/elsewhere.rs runs the program on Linux.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
check() {
	if ! command -v rustup >/dev/null; then
		echo "skipped: portable: only rustup has the libraries of $2"
	elif ! rustup -q target add "$2" >/dev/null 2>&1; then
		echo "skipped: portable: rustup cannot install the target $2"
	else
		cargo check --quiet --locked -p "$1" --target "$2"
		echo "portable: $1 compiles for $2"
	fi
}
check iosched-result wasm32-unknown-unknown
check iosched-read x86_64-apple-darwin
