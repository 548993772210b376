#!/usr/bin/env bash
# Builds the programs as `make` does, for a test of what users get, and keeps them in target/shipped: other builds in
# target/release have other features.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/target/tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
cargo build --release --workspace --locked
install -D -m 755 -t target/shipped target/release/iosched target/release/iosched-ab target/release/iosched-read
target/shipped/iosched-ab self-check
