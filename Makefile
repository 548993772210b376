# Two commands for people: `make demo` and `make test`. Each installs what it needs and says so.
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo -E,)
# cargo builds as the user; only what it has built runs as root. Asked when it is used: set-up may first install rustc.
RUN_AS_ROOT = $(if $(SUDO),env CARGO_TARGET_$$(rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)_RUNNER="sudo -E",)
# Where rustup puts the toolchain that contrib/setup.sh installs, before an older one of the distribution.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

PREFIX ?= /usr/local
BUILD = cargo build --release --workspace --locked

.PHONY: all install package demo demo-tui test ansible-test simulate soak vmtest fresh-machine-test bench lint fmt setup-build

all: setup-build
	$(BUILD)

# Installs what `make` has built.
install:
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin target/release/iosched target/release/iosched-ab target/release/iosched-read

# target/package/*.deb and *.rpm.
package:
	@contrib/setup.sh build package
	contrib/shipped.sh
	contrib/package.sh

setup-build:
	@contrib/setup.sh build

# Builds only what the demo needs, and for a first look rather than for speed. CI runs what was built for release.
DEMO ?= target/demo/iosched-ab
demo:
	@contrib/setup.sh build demo
	$(if $(filter target/demo/%,$(DEMO)),@contrib/quietly.sh target/demo-build.log "compiling iosched-ab: a few minutes the first time" \
		cargo build --profile demo --locked -p iosched-ab --bin iosched-ab)
	@$(SUDO) $(DEMO) demo -o iosched-ab-demo.json --force

# The terminal UI on a simulated SSD with two processes at work.
demo-tui:
	@contrib/setup.sh build demo
	$(BUILD)
	$(SUDO) target/release/iosched --demo

test:
	@contrib/setup.sh build test
	@contrib/test.sh

# The Ansible collection: linted, checked by ansible-test, and run against three sshd of its own. Installs openssh-server, which
# some distributions then start.
ansible-test:
	@contrib/setup.sh build ansible
	contrib/shipped.sh
	@$(SUDO) contrib/ansible-test.sh

# Whole experiments by the thousand: how often verdicts err, and what they find. `make test` runs a few of each.
simulate:
	@contrib/setup.sh build test
	# With the features of the whole workspace, as in vmtest/build: what that has built is used again.
	nice cargo test --release --workspace --locked --test verdicts --test simulation -- --nocapture
	nice cargo test --release --workspace --locked --lib -- --nocapture tune::tests::

# On Debian's kernels under QEMU; KERNEL=6.12 for one of them.
vmtest:
	@contrib/setup.sh build test vmtest
	@vmtest/matrix $(KERNEL)

# Half an hour of 64 disks, 1,500 processes and 50 switches a minute; MINUTES=3 for less.
soak:
	@contrib/setup.sh build demo
	$(BUILD)
	@contrib/soak.sh

# `make demo` and `make test` on bare systems of their own; SUITES="bookworm noble" for some of them.
fresh-machine-test:
	@contrib/fresh-machine-test.sh $(SUITES)

bench:
	@contrib/setup.sh build test bench
	$(BUILD)
	$(RUN_AS_ROOT) cargo bench --locked --bench overhead
	$(RUN_AS_ROOT) cargo bench --locked --bench growth
	$(RUN_AS_ROOT) cargo bench --locked -p iosched-tui --bench ui

lint:
	@contrib/setup.sh build lint
	cargo fmt --all --check
	vmtest/break -n
	IOSCHED_BPF_WERROR=1 cargo clippy --workspace --all-targets --features iosched-vmtest/guest --locked -- -D warnings
	clang-format-19 --dry-run -Werror bpf/*.h bpf/*.c
	contrib/deny.sh
	contrib/features.sh
	contrib/portable.sh

fmt:
	cargo fmt --all
	clang-format-19 -i bpf/*.h bpf/*.c
