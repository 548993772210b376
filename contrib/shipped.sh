#!/usr/bin/env bash
# Builds the programs as packages have them, and keeps them in target/shipped: static, so that they run on any distribution, and
# with their own features alone, which other builds in target/release do not have.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/target/tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
host=$(rustc -vV | sed -n 's/^host: //p')
# The same bytes wherever it is built.
flags="-C target-feature=+crt-static --remap-path-prefix=$PWD=iosched --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
libelf=$(realpath "$(gcc -print-file-name=libelf.a)")
export LIBBPF_SYS_LIBRARY_PATH=${libelf%/*}
# Newer versions of it can read what zstd has compressed.
if nm -A "$libelf" 2>/dev/null | grep -q 'U ZSTD_'; then flags+=" -C link-arg=-lzstd"; fi
RUSTFLAGS="${RUSTFLAGS:-} $flags" cargo build --release --workspace --locked --target "$host" --features iosched-bpf/static
for program in iosched iosched-ab iosched-read; do
	install -D -m 755 -t target/shipped "target/$host/release/$program"
	if readelf -d "target/shipped/$program" | grep NEEDED; then echo "shipped: $program is not static" >&2; exit 1; fi
done
target/shipped/iosched-ab self-check
