# Sourced by run: the disks of the profile zoo, which tests know by their serial numbers.
# shellcheck shell=bash

disks=()

# add_disks DIRECTORY: the media are sparse files there.
add_disks() {
	local name
	for name in paths nvme virtio scsi ata usb uas sd; do
		truncate -s 256M "$1/$name"
		disks+=(-drive "if=none,id=$name,file=$1/$name,format=raw,cache=unsafe")
	done
	disks+=(
		# One namespace behind two controllers: the kernel makes a multipath disk of it.
		-device "nvme-subsys,id=subsystem,nqn=zoo"
		-device "nvme,id=first,serial=zoo-paths,subsys=subsystem,max_ioqpairs=2"
		-device "nvme,id=second,serial=zoo-paths,subsys=subsystem,max_ioqpairs=2"
		-device "nvme-ns,drive=paths,bus=first,nsid=1,shared=on"
		-device "nvme,serial=zoo-nvme,drive=nvme,max_ioqpairs=2"
		-device "virtio-blk-pci,serial=zoo-virtio,drive=virtio,num-queues=2"
		-device "virtio-scsi-pci,id=scsi-bus"
		-device "scsi-hd,bus=scsi-bus.0,serial=zoo-scsi,drive=scsi"
		-device "ich9-ahci,id=ata-bus"
		-device "ide-hd,bus=ata-bus.0,serial=zoo-ata,drive=ata"
		-device "qemu-xhci,id=usb-bus"
		-device "usb-storage,bus=usb-bus.0,serial=zoo-usb,drive=usb"
		-device "usb-uas,id=uas-bus,bus=usb-bus.0,serial=zoo-uas"
		-device "scsi-hd,bus=uas-bus.0,drive=uas"
		-device "sdhci-pci" # has the one bus for such cards
		-device "sd-card,drive=sd"
	)
}
