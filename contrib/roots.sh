#!/usr/bin/env bash
# Bare systems for tests, each in its own root made with debootstrap. Sourced, with `place` as the directory for them.

known_suites="bookworm trixie noble"

# Sets `suites` to those that are named, or all.
choose_suites() {
	local suite
	suites=("$@")
	[[ ${#suites[@]} -gt 0 ]] || read -ra suites <<<"$known_suites"
	for suite in "${suites[@]}"; do
		[[ " $known_suites " == *" $suite "* ]] || { echo "there is no suite $suite; choose from: $known_suites" >&2; exit 2; }
	done
}

skip() { echo "skipped: $*"; exit 0; }

# Starts this script anew in a mount namespace of its own, with `place` set: all mounts end with it, so that deleting the root
# directory deletes nothing else.
begin_roots() {
	local program
	[[ $EUID -eq 0 ]] || skip "making a root directory needs root"
	for program in debootstrap unshare setpriv apt-get; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
	unshare --mount true || skip "this system does not allow mount namespaces"
	place=${FRESH_INSIDE:-}
	[[ -z $place ]] || return 0
	place=$(mktemp -d -p "${FRESH_DIRECTORY:-/var/tmp}" iosched-fresh.XXXX)
	trap 'rm -rf --one-file-system "$place"' EXIT
	trap 'exit 1' INT TERM
	FRESH_INSIDE=$place unshare --mount --propagation private "$@"
	exit
}

# The mirror from which this machine gets packages of a distribution; nothing if it runs another distribution.
mirror_of() {
	apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' | awk -v origin="$1" \
		'$1 == origin && $2 !~ /security/ { print $2; exit }'
}

origin_of() { if [[ $1 == noble ]]; then echo Ubuntu; else echo Debian; fi; }

# Debian packages Ubuntu's keys; the package is downloaded from a release that has it, verified with Debian's keys.
keyring_of() {
	local ubuntu=/usr/share/keyrings/ubuntu-archive-keyring.gpg
	if [[ $1 == Debian ]]; then echo /usr/share/keyrings/debian-archive-keyring.gpg; return; fi
	if [[ ! -e $ubuntu ]]; then
		local source=$place/keys
		ubuntu=$source/usr/share/keyrings/ubuntu-archive-keyring.gpg
		if [[ ! -e $ubuntu ]]; then
			mkdir -p "$source"/{lists/partial,archives/partial,usr}
			echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror_of Debian) trixie main" >"$source/sources.list"
			local options=(-o Dir::Etc::SourceList="$source/sources.list" -o Dir::Etc::SourceParts=/dev/null
				-o Dir::State::Lists="$source/lists" -o Dir::Cache="$source" -o APT::Sandbox::User=root)
			(cd "$source" && apt-get "${options[@]}" -qq update && apt-get "${options[@]}" -qq download ubuntu-keyring &&
				dpkg-deb -x ubuntu-keyring_*.deb .) >&2 || return 1
		fi
	fi
	echo "$ubuntu"
}

# Runs a command in the root, with an empty environment except for the proxy settings.
inside() {
	local root=$1 passed=()
	shift
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
		[[ ! -v $name ]] || passed+=("$name=${!name}")
	done
	env -i "${passed[@]}" HOME=/root USER=root TERM=dumb LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		chroot "$root" sh -c 'cd /src && exec "$@"' sh "$@"
}

# A bare system of a suite with some packages, in a directory of its own.
make_root() {
	local suite=$1 root=$2 packages=$3 origin mirror keyring script components=main
	origin=$(origin_of "$suite")
	mirror=$(mirror_of "$origin")
	keyring=$(keyring_of "$origin") || return 1
	[[ -e $keyring ]] || { echo "the keys of $origin are missing: $keyring"; return 1; }
	[[ $origin == Debian ]] || components=main,universe
	# An older debootstrap may not know the suite; then it uses the script of a known one.
	script=$suite
	[[ -e /usr/share/debootstrap/scripts/$script ]] || script=$([[ $origin == Debian ]] && echo sid || echo gutsy)
	mkdir "$root"
	# Without a mirror, debootstrap uses the distribution's default.
	debootstrap --variant=minbase --components="$components" --keyring="$keyring" --include="$packages" \
		"$suite" "$root" "$mirror" "$script" >"$root.log" 2>&1 || { tail -20 "$root.log"; return 1; }
	local source
	source=$(awk '/^deb / {print $2; exit}' "$root/etc/apt/sources.list")
	printf "deb $source %s ${components/,/ }\n" "$suite" "$suite-updates" >"$root/etc/apt/sources.list"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	# A network with a TLS proxy has its own certificate.
	if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
		cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
		chroot "$root" update-ca-certificates >/dev/null 2>&1
	fi
	mkdir "$root/src"
	mount_kernel "$root"
}

# What the kernel shows of itself.
mount_kernel() {
	local root=$1
	mkdir -p "$root"/{proc,sys,dev,run}
	# The root must be a mount point, so that the file system of a path can be found.
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/run"
}

# Runs a step with its output in a file, and prints its duration and exit code.
step() {
	local log=$1 start=${EPOCHREALTIME/[.,]/} code=0 tenths
	shift
	"$@" >"$log" 2>&1 </dev/null || code=$?
	tenths=$(((${EPOCHREALTIME/[.,]/} - start + 50000) / 100000))
	echo "  $((tenths / 10)).$((tenths % 10)) s, exit code $code: ${*:3}"
	return $code
}

failed=()
expect() {
	local suite=$1 what=$2
	shift 2
	if "$@"; then echo "  ok: $what"; else echo "  FAILED: $what" && failed+=("$suite: $what"); fi
}
