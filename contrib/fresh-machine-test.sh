#!/usr/bin/env bash
# Checks that `make demo` and `make test` install everything they need: runs them on bare systems with only make and git,
# each in its own root made with debootstrap. Each takes half an hour, 8 GB and the downloads of a first build.
# Usage: contrib/fresh-machine-test.sh [-d] [SUITE...]; -d: only the demo; without SUITE all three.
# FRESH_DIRECTORY: where the roots are made (default: /var/tmp).
set -euo pipefail
cd "$(dirname "$0")/.."

known="bookworm trixie noble"
demo_only=
if [[ ${1:-} == -d ]]; then demo_only=1 && shift; fi
suites=("$@")
[[ ${#suites[@]} -gt 0 ]] || read -ra suites <<<"$known"
for suite in "${suites[@]}"; do
	[[ " $known " == *" $suite "* ]] || { echo "there is no suite $suite; choose from: $known" >&2; exit 2; }
done

skip() { echo "skipped: $*"; exit 0; }
[[ $EUID -eq 0 ]] || skip "making a root directory needs root"
for program in debootstrap unshare setpriv apt-get; do
	command -v "$program" >/dev/null || skip "$program is not installed"
done
unshare --mount true || skip "this system does not allow mount namespaces"

# All mounts are in a separate namespace: they end with it, so that deleting the root directory deletes nothing else.
if [[ -z ${FRESH_INSIDE:-} ]]; then
	place=$(mktemp -d -p "${FRESH_DIRECTORY:-/var/tmp}" iosched-fresh.XXXX)
	trap 'rm -rf --one-file-system "$place"' EXIT
	trap 'exit 1' INT TERM
	FRESH_INSIDE=$place unshare --mount --propagation private "$PWD/contrib/fresh-machine-test.sh" ${demo_only:+-d} "${suites[@]}"
	exit
fi
place=$FRESH_INSIDE

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

make_root() {
	local suite=$1 root=$2 origin mirror keyring script components=main
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
	debootstrap --variant=minbase --components="$components" --keyring="$keyring" --include=make,git,ca-certificates \
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
	git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=- --ignore-failed-read | tar -x -C "$root/src"
	# The root must be a mount point, so that the file system of a path can be found.
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/run"
}

# Runs a step with its output in a file, and prints its duration and exit code.
step() {
	local log=$1 start=$SECONDS code=0
	shift
	"$@" >"$log" 2>&1 </dev/null || code=$?
	echo "  $((SECONDS - start)) s, exit code $code: ${*:3}"
	return $code
}

failed=()
expect() {
	local suite=$1 what=$2
	shift 2
	if "$@"; then echo "  ok: $what"; else echo "  FAILED: $what" && failed+=("$suite: $what"); fi
}
first_line() { grep -n -m1 -- "$1" "$2" | cut -d: -f1; }
rust_comes_first() {
	local rust packages
	rust=$(first_line '^setup: Rust .* is installed' "$1") packages=$(first_line '^setup: installing .*gcc' "$1")
	[[ -n $rust && -n $packages && $rust -lt $packages ]]
}

for suite in "${suites[@]}"; do
	echo "== $suite"
	root=$place/$suite
	if ! make_root "$suite" "$root"; then
		echo "skipped: cannot make a root directory of $suite"
		continue
	fi
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
