#!/usr/bin/env bash
# Tests contrib/ansible: ansible-lint, ansible-test sanity, and the playbooks against three hosts: each an sshd, a udev and a loop
# device of its own in namespaces of its own. Needs root, openssh-server, iproute2, fio, udev and network for the venv.
# Usage: contrib/ansible-test.sh [PART...]; parts are lint, sanity, hosts; without PART all of them.
# IOSCHED_BIN: directory of iosched, iosched-ab and iosched-read (default: target/shipped).
# ANSIBLE_VENV: a virtual environment with ansible-test/requirements.txt (default: made in target/ansible-venv).
set -euo pipefail
# Names of network namespaces are mounts, and /run/netns stays one: in a mount namespace of its own they end with the test.
if [[ $EUID -eq 0 && ${ANSIBLE_TEST_IS_ALONE:-} != 1 ]]; then
	exec env ANSIBLE_TEST_IS_ALONE=1 unshare --mount --propagation private "$0" "$@"
fi
cd "$(dirname "$0")/.."
parts=("$@")
[[ $# -gt 0 ]] || parts=(lint sanity hosts)
bin=$(realpath -m "${IOSCHED_BIN:-target/shipped}")
venv=$(realpath -m "${ANSIBLE_VENV:-target/ansible-venv}")

# Not below a repository: ansible-test would ask git for the files. Not below /tmp, which each host has for itself.
place=$(mktemp -d /var/tmp/iosched-ansible.XXXXXX)
hosts=(h1 h2 h3)
net=ios$$
# In place of two models of disks, which loop devices do not have.
declare -A serial=([h1]=TESTSER1 [h2]=TESTSER1 [h3]=TESTSER2)
# What ansible-test of this version installs in its environments.
pip_of_ansible_test=24.2
failures=0
declare -A disk=() keeper=() sshd=() before=()

say() { echo "== $* ($SECONDS s)"; }
die() { echo "ansible-test: $*" >&2; exit 1; }
expect() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@"; then echo "  ok      $what"; else echo "  FAILED  $what"; failures=$((failures + 1)); fi
}

source contrib/ansible-test/hosts.sh
source contrib/ansible-test/scenarios.sh
trap 'end_hosts; rm -rf "$place"' EXIT
trap 'exit 130' INT TERM HUP

if [[ ! -x $venv/bin/ansible-test ]]; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --requirement contrib/ansible-test/requirements.txt
fi
export PATH="$venv/bin:$PATH"
# ansible-test makes further environments below the home directory; those are kept, too.
cache=$venv/home/.ansible/test/cache
if ! compgen -G "$cache/pip-*.whl" >/dev/null; then
	mkdir -p "$cache"
	"$venv/bin/pip" download --quiet --no-deps --dest "$cache" "pip==$pip_of_ansible_test"
	cp contrib/ansible-test/get-pip.py "$cache/get_pip_${pip_of_ansible_test//./_}.py"
fi
# The tools find a collection by its path, and write beside it.
collection=$place/collections/ansible_collections/iosched/fleet
mkdir -p "${collection%/*}"
cp -a contrib/ansible "$collection"

for part in "${parts[@]}"; do
	say "$part"
	case $part in
	lint) (cd "$collection" && ansible-lint --offline --profile production --strict) ;;
	sanity) (cd "$collection" && HOME=$venv/home ansible-test sanity --local --color no) ;;
	hosts) test_hosts ;;
	*) die "there is no part $part" ;;
	esac
done
[[ $failures -eq 0 ]] || die "$failures expectations failed"
say "all passed"
