# Three hosts for contrib/ansible-test.sh, which sources this: namespaces, disks, keys and sshd. All of it is removed at the end,
# and only what was made here.
# shellcheck shell=bash disable=SC2154,SC2034,SC2004 # variables of the script that sources this; arrays with words as keys

# As root of the host, in all of its namespaces.
on() { local host=$1; shift; nsenter --target "${keeper[$host]}" --mount --uts --net "$@"; }
controller() { nsenter --net="/run/netns/$net-c" "$@"; }
# Processes of the host, by the network that they are in.
pids() { ip netns pids "$net-$1"; }
scheduler() { sed 's/.*\[\(.*\)\].*/\1/' "/sys/block/${disk[$1]}/queue/scheduler"; }
# Every setting of the disk that can be read.
state() { (cd "/sys/block/${disk[$1]}/queue" && grep -rs '' . | sort); }
is_as_before() { [[ $(state "$1") == "${before[$1]}" ]]; }
wait_until() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || return 1
		sleep 0.2
	done
}

make_hosts() {
	local host
	[[ $EUID -eq 0 ]] || die "the hosts need root"
	command -v sshd >/dev/null || install_sshd
	for program in iosched iosched-ab iosched-read; do
		[[ -x $bin/$program ]] || die "$bin/$program is missing: build it, or set IOSCHED_BIN"
	done
	mkdir "$place/bin"
	cp "$bin"/{iosched,iosched-ab,iosched-read} "$place/bin/"
	ip netns add "$net-c"
	controller ip link set lo up
	controller ip link add bridge type bridge
	controller ip address add 192.0.2.1/24 dev bridge
	controller ip link set bridge up
	ssh-keygen -q -t ed25519 -N '' -C test -f "$place/key"
	for host in "${hosts[@]}"; do make_host "$host"; done
	make_controller
}

# Without starting it for the machine.
policy=/usr/sbin/policy-rc.d made_policy=0
install_sshd() {
	command -v apt-get >/dev/null || die "sshd is missing: install openssh-server"
	if [[ ! -e $policy ]]; then
		made_policy=1
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod +x $policy
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-server >/dev/null 2>&1 ||
		die "openssh-server cannot be installed"
	forget_policy
}
forget_policy() {
	[[ $made_policy -eq 0 ]] || rm -f $policy
	made_policy=0
}

make_host() {
	local host=$1 number=${1#h} own=$place/$1
	mkdir "$own"
	truncate -s 192M "$own/disk"
	disk[$host]=$(basename "$(losetup --find --show "$own/disk")")
	[[ ${disk[$host]} == loop* ]] || die "${disk[$host]} is no loop device"
	# Settings that are not the kernel's own must come back, too; those of a scheduler are lost with every switch.
	echo none >"/sys/block/${disk[$host]}/queue/scheduler"
	echo 96 >"/sys/block/${disk[$host]}/queue/read_ahead_kb"
	if [[ $host == h3 ]]; then
		echo mq-deadline >"/sys/block/${disk[$host]}/queue/scheduler"
		echo 77 >"/sys/block/${disk[$host]}/queue/iosched/read_expire"
	fi
	before[$host]=$(state "$host")

	ip netns add "$net-$host"
	ip link add name eth0 netns "$net-$host" type veth peer name "$host" netns "$net-c"
	controller ip link set "$host" master bridge up
	nsenter --net="/run/netns/$net-$host" unshare --mount --uts contrib/ansible-test/host.sh "$host" "${disk[$host]}" "${serial[$host]}" "$place" \
		>"$own/host.log" 2>&1 &
	keeper[$host]=$!
	# The shell would report its end.
	disown
	nsenter --net="/run/netns/$net-$host" ip address add "192.0.2.1$number/24" dev eth0
	nsenter --net="/run/netns/$net-$host" ip link set eth0 up
	ssh-keygen -q -t ed25519 -N '' -C "$host" -f "$own/host_key"
	printf '192.0.2.1%s %s\n' "$number" "$(cut -d' ' -f1,2 "$own/host_key.pub")" >>"$place/known_hosts"
	cat >"$own/sshd_config" <<-EOF
		ListenAddress 192.0.2.1$number
		HostKey $own/host_key
		PidFile none
		UsePAM no
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitRootLogin prohibit-password
		Subsystem sftp internal-sftp
	EOF
	wait_until 20 test -e "$own/ready" || { cat "$own/host.log" "$own/udevd.log"; die "$host does not start"; }
	start_sshd "$host"
}

start_sshd() {
	local host=$1
	nsenter --target "${keeper[$host]}" --mount --uts --net "$(command -v sshd)" -D -f "$place/$host/sshd_config" -E "$place/$host/sshd.log" &
	sshd[$host]=$!
	disown
}

make_controller() {
	local host
	cat >"$place/ansible.cfg" <<-EOF
		[defaults]
		collections_path = $place/collections
		home = $place/ansible
		inventory = $place/inventory
		interpreter_python = /usr/bin/python3
		nocows = true
		timeout = 5
		[ssh_connection]
		pipelining = true
		control_path_dir = $place/cp
		ssh_args = -F none -o ControlMaster=auto -o ControlPersist=60s -o IdentitiesOnly=yes -o ServerAliveInterval=5 -o StrictHostKeyChecking=yes -o UserKnownHostsFile=$place/known_hosts -o GlobalKnownHostsFile=/dev/null
	EOF
	{
		echo "all:"
		echo "  vars: {ansible_user: root, ansible_ssh_private_key_file: $place/key}"
		echo "  children:"
		echo "    db:"
		echo "      hosts:"
		for host in "${hosts[@]}"; do
			echo "        $host: {ansible_host: 192.0.2.1${host#h}, experiment_devices: [${disk[$host]}], persist_devices: [${disk[$host]}]}"
		done
	} >"$place/inventory"
	wait_until 10 play_quietly -m ansible.builtin.ping || { cat "$place/ping.log" "$place"/h*/sshd.log; die "no sshd answers"; }
}

play_quietly() { ANSIBLE_CONFIG=$place/ansible.cfg controller ansible all "$@" >"$place/ping.log" 2>&1; }
# Output goes to $place/log, the exit code to $code.
play() {
	code=0
	ANSIBLE_CONFIG=$place/ansible.cfg ANSIBLE_NOCOLOR=1 PATH=$place/bin:$PATH controller ansible-playbook "$@" >"$place/log" 2>&1 || code=$?
	[[ -z ${VERBOSE:-} ]] || cat "$place/log" >>"$VERBOSE"
}

# First what may hold a disk, politely: iosched restores it. Then the rest.
end_hosts() {
	local host pid
	forget_policy
	# A play that was interrupted, and the connections that ssh keeps.
	[[ ! -e /run/netns/$net-c ]] || for pid in $(pids c); do kill "$pid" 2>/dev/null || true; done
	for host in "${!disk[@]}"; do
		[[ -e /run/netns/$net-$host ]] || continue
		for pid in $(pids "$host"); do
			# Also a guardian ends by itself, once it has restored what it guards.
			if is_iosched "$pid" && ! grep -qs __guardian "/proc/$pid/cmdline"; then kill "$pid" 2>/dev/null || true; fi
		done
		wait_until 20 no_iosched "$host" || echo "ansible-test: iosched does not end on $host" >&2
		# host.sh ends after its udev, for which it waits.
		for pid in $(pids "$host"); do [[ $pid == "${keeper[$host]:-}" ]] || kill -9 "$pid" 2>/dev/null || true; done
		wait_until 5 no_process "$host" || kill -9 "${keeper[$host]}" || true
		wait_until 5 no_process "$host" || echo "ansible-test: processes are left on $host: $(pids "$host")" >&2
	done
	for host in "${!disk[@]}"; do
		wait_until 5 losetup --detach "/dev/${disk[$host]}" 2>/dev/null || echo "ansible-test: ${disk[$host]} is still attached" >&2
	done
	for host in "${hosts[@]}" c; do
		[[ ! -e /run/netns/$net-$host ]] || ip netns delete "$net-$host"
	done
}
no_process() { [[ -z $(pids "$1") ]]; }
is_iosched() { grep -qs iosched "/proc/$1/comm"; }
no_iosched() {
	local pid
	for pid in $(pids "$1"); do ! is_iosched "$pid" || return 1; done
}
