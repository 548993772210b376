#!/usr/bin/env bash
# Becomes a host of its own for contrib/ansible-test.sh, which starts it in new mount and UTS namespaces and in the network
# namespace of the host: a name, one disk, udev with rules of its own, and sshd. Usage: host.sh NAME DISK SERIAL PLACE
set -euo pipefail
name=$1 disk=$2 serial=$3 place=$4
number=$(<"/sys/block/$disk/dev")

mount --make-rprivate /
hostname "$name"
ip link set lo up

# Nothing of the machine can be written in these. udev's own rules would act on all disks of the machine.
for directory in /run /tmp /root /var/lib /etc/udev /usr/lib/udev/rules.d; do
	mount -t tmpfs -o mode=755 tmpfs "$directory"
done
chmod 1777 /tmp
install -D -m 600 "$place/key.pub" /root/.ssh/authorized_keys
mkdir -p /run/sshd /run/lock /etc/udev/rules.d
echo 'resolve_names=never' >/etc/udev/udev.conf
mount --bind "$place/bin" /usr/local/bin
tr -d - </proc/sys/kernel/random/uuid >"$place/$name/machine-id"
mount --bind "$place/$name/machine-id" /etc/machine-id
# sshd refuses an account that is locked with an exclamation mark.
sed 's/^root:[^:]*:/root:*:/' /etc/shadow >"$place/$name/shadow"
chmod 600 "$place/$name/shadow"
mount --bind "$place/$name/shadow" /etc/shadow

# Only its own disk has a node.
mkdir /run/dev
for node in null zero full random urandom tty loop-control fuse; do
	[[ ! -e /dev/$node ]] || cp -a "/dev/$node" /run/dev/
done
mknod -m 660 "/run/dev/$disk" b "${number%:*}" "${number#*:}"
mkdir /run/dev/pts /run/dev/shm
ln -s /proc/self/fd /run/dev/fd
ln -s pts/ptmx /run/dev/ptmx
mount --rbind /dev/pts /run/dev/pts
mount -t tmpfs tmpfs /run/dev/shm
mount --rbind /run/dev /dev

# A loop device has no serial number, so the host says one.
printf 'KERNEL=="%s", ENV{ID_SERIAL}="%s"\n' "$disk" "$serial" >/usr/lib/udev/rules.d/60-serial.rules
udevd=/usr/lib/systemd/systemd-udevd
[[ -x $udevd ]] || udevd=/lib/systemd/systemd-udevd
"$udevd" >"$place/$name/udevd.log" 2>&1 &
echo $! >"$place/$name/udevd.pid"
for _ in $(seq 50); do [[ ! -S /run/udev/control ]] || break; sleep 0.1; done
udevadm trigger --action=change --subsystem-match=block --sysname-match="$disk"
udevadm settle --timeout=20
# Its sshd is started, killed and started again from outside.
touch "$place/$name/ready"
wait
