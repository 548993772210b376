# Two commands for people: `make demo` and `make test`. Each installs what it needs and says so.
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo -E,)
# cargo builds as the user; only what it has built runs as root.
RUN_AS_ROOT := $(if $(SUDO),env CARGO_TARGET_$(shell rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)_RUNNER="sudo -E",)

PREFIX ?= /usr/local

.PHONY: all install demo demo-tui test vmtest bench lint fmt setup-build

all: setup-build
	cargo build --release --workspace --locked

# Installs what `make` has built.
install:
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin target/release/iosched target/release/iosched-ab

setup-build:
	@contrib/setup.sh build

demo:
	@contrib/setup.sh build demo
	cargo build --release --locked
	$(SUDO) target/release/iosched-ab demo -o iosched-ab-demo.json --force

# The terminal UI on a simulated SSD with two processes at work.
demo-tui:
	@contrib/setup.sh build demo
	cargo build --release --workspace --locked
	$(SUDO) target/release/iosched --demo

test:
	@contrib/setup.sh build test
	@contrib/test.sh

# On Debian's kernels under QEMU; KERNEL=6.12 for one of them.
vmtest:
	@contrib/setup.sh build test vmtest
	@vmtest/matrix $(KERNEL)

bench:
	@contrib/setup.sh build test bench
	cargo build --release --workspace --locked
	$(RUN_AS_ROOT) cargo bench --locked --bench overhead
	$(RUN_AS_ROOT) cargo bench --locked --bench growth
	$(RUN_AS_ROOT) cargo bench --locked -p iosched-tui --bench ui

lint:
	@contrib/setup.sh build lint
	cargo fmt --all --check
	IOSCHED_BPF_WERROR=1 cargo clippy --workspace --all-targets --features iosched-vmtest/guest --locked -- -D warnings
	clang-format-19 --dry-run -Werror bpf/*.h bpf/*.c

fmt:
	cargo fmt --all
	clang-format-19 -i bpf/*.h bpf/*.c
