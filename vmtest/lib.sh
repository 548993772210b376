# Sourced by the scripts beside it, which stand in this directory then.
# shellcheck shell=bash

repository=$(cd .. && pwd)
target=${CARGO_TARGET_DIR:-$repository/target}
work=$target/vmtest
# The profile of Cargo.toml that tests are compiled with, and the directory of what it makes.
compiled=release made=$target/release
[[ ${SHIPPED:-} != built ]] || compiled=dev made=$target/debug
cache=${VMTEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/iosched/kernels}

rows() { grep -v '^#' "$1"; }

# Those of kernels.txt; with VMTEST_SHORT=1 those on which CI runs a test.
kernels() {
	local name
	rows kernels.txt | awk '{ print $1 }' | while read -r name; do
		if [[ ${VMTEST_SHORT:-} != 1 ]] || rows tests.txt | awk '{ print $3 }' | tr , '\n' | grep -qxF "$name"; then echo "$name"; fi
	done
}

# A test's name in the guest.
place() { tr / - <<<"${1/.rs/}"; }
