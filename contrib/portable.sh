#!/usr/bin/env bash
# Code that only reads results compiles for platforms that have neither BPF nor /proc: the pure crate for any, the
# program for macOS. Compiles, and cannot run what it compiled; tests/report/elsewhere.rs runs the program on Linux.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
command -v rustup >/dev/null || { echo "skipped: portable: only rustup has the libraries of other platforms"; [[ ${CI:-} != true ]]; exit; }
check() {
	rustup -q target add "$2" >/dev/null 2>&1 || { echo "portable: rustup cannot install the target $2" >&2; exit 1; }
	cargo check --quiet --locked -p "$1" --target "$2"
	echo "portable: $1 compiles for $2"
}
check iosched-result wasm32-unknown-unknown
check iosched-read x86_64-apple-darwin
