#!/usr/bin/env bash
# Installs what a group needs, on Debian and Ubuntu: first a Rust toolchain, then packages. Prints what it installs and from
# where; does nothing if everything is installed. Usage: contrib/setup.sh GROUP...
# Groups: build, demo, test, ansible, vmtest (tests in virtual machines), bench, lint, package.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/target/tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

declare -A packages=(
	[build]="gcc libc6-dev make pkg-config libelf-dev zlib1g-dev"
	[demo]="fio kmod"
	[ansible]="openssh-server iproute2 fio udev jq python3-venv util-linux"
	[test]="binutils libzstd-dev fio jq e2fsprogs btrfs-progs xfsprogs util-linux util-linux-extra fdisk procps kmod dmsetup clang-14 clang-19 libxml2-utils perl python3-jsonschema shellcheck sysbench ioping dbench stress-ng rocksdb-tools postgresql ansible-core udev systemd python3-venv"
	[vmtest]="qemu-system-x86 busybox-static cpio kmod xz-utils jq binutils debian-archive-keyring fio blktrace dmsetup e2fsprogs xfsprogs btrfs-progs f2fs-tools"
	[package]="binutils libzstd-dev dpkg rpm gzip jq"
	[bench]="fio jq libbpf-tools bpftrace time"
	[lint]="clang-format-19 clang-14 clang-19 jq"
)
# Not every release has all of these; tests that need a missing one are skipped, with a message.
may_lack="bpftool linux-tools-common clang-14 clang-19 golang-go rocksdb-tools postgresql chromium nodejs npm default-jre-headless ansible-core udev systemd"
# Versions that the Go and Rust of every supported release can build.
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20230113213139-801c7ef9e5c5
cargo_deny=0.20.2
rustup_root=${RUSTUP_UPDATE_ROOT:-https://static.rust-lang.org/rustup}

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null; }
has_apt() { has apt-get; }
wants() { [[ " $groups " == *" $1 "* ]]; }
is_offered() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[0-9]* ]]; }
is_installed() {
	if has dpkg-query; then dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; else return 1; fi
}

groups="$*"
wanted=()
for group in "$@"; do
	[[ -v packages[$group] ]] || { echo "setup: there is no group $group; choose from: ${!packages[*]}" >&2; exit 2; }
	read -ra names <<<"${packages[$group]}"
	wanted+=("${names[@]}")
done

# Missing packages and programs.

rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
version_of() { { "$1" --version 2>/dev/null || true; } | awk '{print $2; exit}'; }
# Checks both, because distributions package rustc and cargo separately.
rust_found() {
	local rustc cargo
	rustc=$(version_of rustc) cargo=$(version_of cargo)
	if [[ -n $rustc && -n $cargo ]]; then printf '%s\n' "$rustc" "$cargo" | sort -V | head -1; fi
}
rust_is_recent() {
	local found
	found=$(rust_found)
	[[ -n $found ]] && printf '%s\n' "$rust_wanted" "$found" | sort -V -C
}

missing=()
if has_apt; then
	for name in "${wanted[@]}"; do
		is_installed "$name" || [[ " ${missing[*]} " == *" $name "* ]] || missing+=("$name")
	done
	if (wants test || wants bench) && ! has bpftool; then missing+=(bpftool); fi
	if wants test && ! has benchstat && ! has go; then missing+=(golang-go); fi
	# Readers of the HTML report.
	if wants test && ! has chromium; then missing+=(chromium); fi
	if wants test && ! has npm; then missing+=(nodejs npm); fi
	if wants test && ! has java; then missing+=(default-jre-headless); fi
elif ! has dpkg-query; then
	echo "setup: this is neither Debian nor Ubuntu; install the equivalents of these packages by hand: ${wanted[*]}" >&2
fi
needs_rust=0
rust_is_recent || needs_rust=1
# Without rustup, rustfmt is a package of the distribution.
if [[ $needs_rust -eq 0 ]] && has_apt && ! has rustup && ! has rustfmt; then missing+=(rustfmt); fi

# Packages that were not available are tried again only after the package lists have changed.
note=target/tools/not-offered
not_offered=
if [[ -e $note && ! /var/lib/apt/lists -nt $note ]]; then not_offered=$(<"$note"); fi
still=()
for name in "${missing[@]}"; do [[ " $not_offered " == *" $name "* ]] || still+=("$name"); done
missing=("${still[@]}")

needs_promtool=0
for name in promtool prometheus; do
	if wants test && has_apt && ! has "$name" && [[ " $not_offered " != *" $name "* ]]; then needs_promtool=1; fi
done

# Whether root or sudo is available.

as_root=() can_be_root=1
if [[ $EUID -ne 0 ]]; then
	as_root=(sudo)
	if ! has sudo || ! { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then can_be_root=0; fi
fi
# This needs package lists: without them, is_offered knows nothing.
if [[ $can_be_root -eq 0 ]] && is_offered gcc; then
	still=()
	for name in "${missing[@]}"; do
		[[ " $may_lack " == *" $name "* ]] && ! is_offered "$name" || still+=("$name")
	done
	missing=("${still[@]}")
fi
if [[ $can_be_root -eq 0 && ${#missing[@]} -gt 0 ]]; then
	{
		echo "setup: packages are missing, and there is neither root nor sudo. Run as root:"
		echo "    apt-get update && apt-get install --no-install-recommends ${missing[*]}$([[ $needs_rust -eq 0 ]] || echo " curl ca-certificates")"
		if [[ $needs_rust -eq 1 ]]; then
			echo "then as yourself, to get Rust $rust_wanted or later (found: $(rust_found | grep . || echo none)):"
			echo "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
		fi
	} >&2
	exit 1
fi

# The package lists tell whether rustup is available.
is_updated=0
update() {
	if [[ $is_updated -eq 0 && $can_be_root -eq 1 ]]; then "${as_root[@]}" apt-get update -qq; fi
	is_updated=1
}
install() {
	export DEBIAN_FRONTEND=noninteractive
	update
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o Dpkg::Options::=--force-confold "$@" >/dev/null
}

# Rust: with the installed rustup, the distribution's package, or the rustup published by the Rust project.

if [[ $needs_rust -eq 1 ]]; then
	say "Rust $rust_wanted or later is needed, found: $(rust_found | grep . || echo none)"
	way=published
	if has rustup; then
		way=present
	elif has_apt && [[ $can_be_root -eq 1 ]]; then
		update
		# The package rustup would remove the distribution's cargo and rustc, which the user may need.
		if is_offered rustup && ! is_installed cargo && ! is_installed rustc; then way=packaged; fi
	fi
	case $way in
	present) ;;
	packaged)
		say "installing the package rustup"
		install rustup
		;;
	published)
		home=${CARGO_HOME:-$HOME/.cargo}
		say "installing rustup from $rustup_root into $home; your shell's PATH is not changed"
		if ! has curl; then
			has_apt && [[ $can_be_root -eq 1 ]] || fail "curl is missing; or install Rust yourself: https://rustup.rs"
			say "installing curl ca-certificates to download it"
			install curl ca-certificates
		fi
		machine=$(uname -m)
		[[ $machine != riscv64 ]] || machine=riscv64gc
		from=$rustup_root/dist/$machine-unknown-linux-gnu
		place=$(mktemp -d)
		trap 'rm -rf "$place"' EXIT
		for file in rustup-init rustup-init.sha256; do
			curl --proto '=https' --tlsv1.2 -sSfL -o "$place/$file" "$from/$file" || fail "cannot download $from/$file"
		done
		(cd "$place" && echo "$(cut -d' ' -f1 rustup-init.sha256)  rustup-init" | sha256sum --check --quiet) ||
			fail "the checksum of $from/rustup-init is wrong"
		chmod +x "$place/rustup-init"
		RUSTUP_INIT_SKIP_PATH_CHECK=yes "$place/rustup-init" -q -y --profile minimal --default-toolchain none --no-modify-path
		;;
	esac
	hash -r
	say "installing or updating the toolchain stable with rustup"
	rustup -q toolchain install stable --profile minimal --component rustfmt --no-self-update
	if [[ -z $(rust_found) ]]; then rustup -q default stable; fi
	if ! rust_is_recent; then
		say "your default toolchain is not changed; this directory uses stable (rustup override set stable)"
		rustup -q override set stable
	fi
	rust_is_recent || fail "Rust is still $(rust_found | grep . || echo missing); see https://rustup.rs"
	say "Rust $(rust_found) is installed"
fi

# The BPF skeleton is formatted when it is generated.
if has rustup && ! rustfmt --version >/dev/null 2>&1; then
	say "installing rustfmt with rustup"
	rustup -q component add rustfmt
fi

# Packages.

if [[ ${#missing[@]} -gt 0 ]]; then
	say "missing packages: ${missing[*]}"
	update
	found=() lacking=()
	for name in "${missing[@]}"; do
		if [[ $name == bpftool ]] && ! is_offered bpftool; then name=linux-tools-common; fi
		if [[ " $may_lack " == *" $name "* ]] && ! is_offered "$name"; then lacking+=("$name"); else found+=("$name"); fi
	done
	if [[ ${#lacking[@]} -gt 0 ]]; then
		say "this release does not have ${lacking[*]}; tests that need them will be skipped"
		mkdir -p "${note%/*}"
		echo "$not_offered ${lacking[*]}" >"$note"
	fi
	if [[ ${#found[@]} -gt 0 ]]; then
		say "installing ${found[*]}"
		# Tests start a server of their own; the package would start one with a database for this machine.
		if [[ " ${found[*]} " == *" postgresql "* && ! -e /etc/postgresql-common ]]; then
			"${as_root[@]}" mkdir /etc/postgresql-common
			echo "create_main_cluster = false" | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
		fi
		install "${found[@]}"
	fi
fi

# Programs that read iosched's reports, for tests; they go to target/tools/bin.

mkdir -p target/tools/bin
# Extracted from its package instead of installed, because in some releases the package would start the server.
if [[ $needs_promtool -eq 1 ]]; then
	update
	place=$(mktemp -d)
	for name in promtool prometheus; do
		if is_offered "$name"; then
			say "extracting Prometheus from the package $name into target/tools/bin"
			(cd "$place" && apt-get download -qq "$name" 2>/dev/null && dpkg-deb --fsys-tarfile "$name"_*.deb | tar -x --wildcards './usr/bin/prom*') ||
				say "cannot download $name; its tests will be skipped"
		fi
	done
	for name in promtool prometheus; do
		if [[ -e $place/usr/bin/$name ]]; then
			mv "$place/usr/bin/$name" target/tools/bin/
		else
			say "this release does not have $name; its tests will be skipped"
			not_offered+=" $name"
			echo "$not_offered" >"$note"
		fi
	done
	rm -rf "$place"
fi
# Only the example jobs are wanted, and their pictures are large.
examples=target/tools/fio-examples
if wants test && has_apt && [[ ! -e $examples/aio-read.fio && ! -e /usr/share/doc/fio/examples/aio-read.fio &&
	" $not_offered " != *" fio-examples "* ]]; then
	if is_offered fio-examples; then
		say "extracting fio's example jobs from the package fio-examples into $examples"
		place=$(mktemp -d)
		mkdir -p "$examples"
		(cd "$place" && apt-get download -qq fio-examples 2>/dev/null && dpkg-deb -x ./*.deb .) &&
			cp "$place"/usr/share/doc/fio/examples/*.fio "$examples/" ||
			say "cannot download fio-examples; its test will be skipped"
		rm -rf "$place"
	else
		say "this release does not have fio-examples; its test will be skipped"
		echo "$not_offered fio-examples" >"$note"
	fi
fi
# Only TuneD's parser of profiles is wanted: the package would start a service.
if wants test && has_apt && [[ ! -e target/tools/tuned && " $not_offered " != *" tuned "* ]]; then
	if is_offered tuned; then
		say "extracting TuneD's Python modules from the package tuned into target/tools/tuned"
		place=$(mktemp -d)
		(cd "$place" && apt-get download -qq tuned 2>/dev/null && dpkg-deb -x ./*.deb .) &&
			mkdir -p target/tools/tuned && cp -r "$place"/usr/lib/python3/dist-packages/tuned target/tools/tuned/ ||
			say "cannot download tuned; its test will be skipped"
		rm -rf "$place"
	else
		say "this release does not have tuned; its test will be skipped"
		echo "$not_offered tuned" >"$note"
	fi
fi
if wants test && ! has benchstat && has go; then
	say "building $benchstat with $(go version | cut -d' ' -f3) into target/tools/bin"
	GOBIN=$PWD/target/tools/bin GOFLAGS=-mod=mod go install "$benchstat" || say "cannot build benchstat; its test will be skipped"
fi
browser=target/tools/browser
if wants test && has npm && ! cmp -s tests/report/browser/package-lock.json "$browser/package-lock.json"; then
	say "installing what checks the HTML report (axe-core, puppeteer-core, vnu-jar) into $browser"
	mkdir -p "$browser"
	cp tests/report/browser/package*.json "$browser/"
	if ! (cd "$browser" && npm ci --no-audit --no-fund --loglevel=error >/dev/null); then
		rm -f "$browser/package-lock.json" # tried again next time
		say "cannot install it; the tests in a browser will be skipped"
	fi
fi
python=target/tools/python
if wants test && ! cmp -s tests/requirements.txt "$python/requirements.txt"; then
	say "installing Python classes that read what is exported ($(grep -c == tests/requirements.txt) packages) into $python"
	if python3 -m venv --clear "$python" && "$python/bin/pip" install --quiet --no-input --requirement tests/requirements.txt; then
		cp tests/requirements.txt "$python/"
	else
		say "cannot install them; their tests will be skipped"
	fi
fi

# Cargo tools for the lint.

if wants lint; then
	if has rustup && ! cargo clippy --version >/dev/null 2>&1; then
		say "installing clippy with rustup"
		rustup -q component add clippy
	fi
	if [[ $(version_of cargo-deny) != "$cargo_deny" ]]; then
		say "building cargo-deny $cargo_deny into ${CARGO_HOME:-$HOME/.cargo}/bin; this takes some minutes, only once"
		# It runs for seconds, so it is compiled for speed of compiling.
		CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off cargo install --quiet --locked "cargo-deny@$cargo_deny"
	fi
fi
