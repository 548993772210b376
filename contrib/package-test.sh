#!/usr/bin/env bash
# Installs the package of contrib/package.sh on bare systems, uses it as somebody who has only that, removes it, and looks for what
# is left; then the .rpm in an empty root, because its programs need nothing of the system. Prints how long each step takes.
# Usage: contrib/package-test.sh [SUITE...]; without SUITE all three.
set -euo pipefail
cd "$(dirname "$0")/.."
source contrib/roots.sh
choose_suites "$@"
begin_roots "$PWD/contrib/package-test.sh" "${suites[@]}"
package=$(compgen -G "$PWD/target/package/iosched_*.deb") || { echo "there is no package; contrib/package.sh makes it" >&2; exit 1; }

# All files but those that apt and dpkg keep for themselves.
files() { (cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./src \
	-o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \) -prune -o -print | sort); }

tried=0
for suite in "${suites[@]}"; do
	echo "== $suite"
	root=$place/$suite
	if ! make_root "$suite" "$root" ca-certificates; then
		echo "skipped: cannot make a root directory of $suite"
		continue
	fi
	tried=1
	log=$root.log
	inside "$root" apt-get update -qq
	# What the package only recommends stays, so it is there before.
	inside "$root" apt-get install -y -qq --no-install-recommends fio kmod man-db >/dev/null 2>&1
	files "$root" >"$root.before"
	cp "$package" "$root/src/"
	expect "$suite" "it installs" step "$log" inside "$root" apt-get install -y -qq --no-install-recommends "./${package##*/}"
	expect "$suite" "it says its version" step "$log" inside "$root" iosched --version
	expect "$suite" "the manual is there" step "$log" inside "$root" sh -c "man iosched-ab-run | grep -q -- --arm"
	step "$log" inside "$root" iosched doctor || true
	expect "$suite" "it can measure" grep -q '^measure: yes' "$log"
	expect "$suite" "the first record" step "$log" inside "$root" iosched stat -n 1 -i 0.1 --json
	expect "$suite" "the demo has a verdict" step "$log" inside "$root" iosched-ab demo -o /src/demo.json
	expect "$suite" "the result can be read" step "$log" inside "$root" iosched-read report /src/demo.json
	expect "$suite" "it can be removed" step "$log" inside "$root" apt-get purge -y -qq iosched
	files "$root" >"$root.after"
	expect "$suite" "nothing is left" diff "$root.before" "$root.after"
done

# rpm for another root, and a program in it without a shell.
into() { rpm --root "$1" --define '_dbpath /var/lib/rpm' "${@:3}"; }
alone() { env -i TERM=dumb LANG=C.UTF-8 PATH=/usr/bin HOME=/ "$(command -v chroot)" "$@"; }
rpm_in_an_empty_root() {
	local file=$1 root=$place/rpm log=$place/rpm.log left
	mkdir "$root"
	expect rpm "it installs" step "$log" into "$root" rpm -i --nodeps --noscripts "$file"
	expect rpm "its files are as they were packed" step "$log" into "$root" rpm -V --nodeps iosched
	mount_kernel "$root"
	expect rpm "it says its version" step "$log" alone "$root" iosched --version
	expect rpm "the programs can do what they must" step "$log" alone "$root" iosched-ab self-check
	expect rpm "the first record" step "$log" alone "$root" iosched stat -n 1 -i 0.1 --json
	expect rpm "it can be removed" step "$log" into "$root" rpm -e --noscripts iosched
	left=$(cd "$root" && find . -xdev -type f ! -path './var/lib/rpm/*')
	expect rpm "nothing is left" test -z "$left"
}
file=$(compgen -G "$PWD/target/package/iosched-*.rpm" || true)
echo "== rpm in an empty root"
if [[ -z $file ]] || ! command -v rpm >/dev/null; then
	echo "skipped: there is no .rpm, or rpm is not installed"
else
	rpm_in_an_empty_root "$file"
fi
[[ $tried -eq 1 ]] || { echo "no root directory could be made" >&2; exit 1; }
if [[ ${#failed[@]} -gt 0 ]]; then
	printf 'FAILED: %s\n' "${failed[@]}"
	exit 1
fi
