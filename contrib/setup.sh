#!/usr/bin/env bash
# Installs what building (build), testing (test; vmtest: in virtual machines), benchmarking (bench) and linting (lint)
# need, on Debian and Ubuntu, and says which packages. Does nothing where all are there.
# Usage: contrib/setup.sh GROUP...
set -euo pipefail

declare -A packages=(
	[build]="gcc libc6-dev make pkg-config libelf-dev zlib1g-dev clang"
	[demo]="fio"
	[test]="fio e2fsprogs btrfs-progs util-linux fdisk procps"
	[vmtest]="qemu-system-x86 busybox-static cpio kmod xz-utils jq binutils debian-archive-keyring fio blktrace dmsetup"
	[bench]="fio jq libbpf-tools bpftrace"
	[lint]="clang-format-19 clang-14 clang-19 jq"
)
# bpftool's package has another name where the kernel's tools come in one.
has_bpftool() { command -v bpftool >/dev/null; }

is_installed() {
	# Any clang from 14 on will do.
	if [[ $1 == clang ]] && compgen -c clang | grep -qE '^clang(-(1[4-9]|2[0-9]))?$'; then return 0; fi
	dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

wanted=()
for group in "$@"; do
	[[ -v packages[$group] ]] || { echo "setup: there is no group $group; take ${!packages[*]}" >&2; exit 2; }
	read -ra names <<<"${packages[$group]}"
	wanted+=("${names[@]}")
done

if ! command -v cargo >/dev/null; then
	echo "setup: no cargo in PATH; install a Rust toolchain of version 1.89 or later first" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	echo "setup: not a Debian or Ubuntu; install these by hand, under your distribution's names: ${wanted[*]}" >&2
	exit 0
fi

missing=()
for name in "${wanted[@]}"; do is_installed "$name" || missing+=("$name"); done
if [[ " $* " =~ \ (test|bench)\  ]] && ! has_bpftool; then
	if apt-cache show bpftool 2>/dev/null | grep -q '^Filename:'; then missing+=(bpftool); else missing+=(linux-tools-common); fi
fi
[[ ${#missing[@]} -eq 0 ]] && exit 0

sudo=()
if [[ $EUID -ne 0 ]]; then
	command -v sudo >/dev/null || { echo "setup: run as root, or install: ${missing[*]}" >&2; exit 1; }
	sudo=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
