#!/usr/bin/env bash
# Makes packages of the programs in target/shipped, which contrib/shipped.sh builds: target/package/*.deb and *.rpm, with manual
# pages, completions, the docs, and a list of all that is compiled in (CycloneDX). The same programs make the same bytes.
# Usage: contrib/package.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
shipped=$PWD/target/shipped out=$PWD/target/package
programs=(iosched iosched-ab iosched-read)
for program in "${programs[@]}"; do
	[[ -x $shipped/$program ]] || { echo "package: $shipped/$program is missing; contrib/shipped.sh builds it" >&2; exit 1; }
done
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Of the last change, so that two builds of it are alike.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# What both kinds of package have; $1: the directory, $2: that of zsh's completions, which distributions do not share.
fill() {
	local root=$1 zsh=$2 program page pages
	install -D -m 755 -t "$root/usr/bin" "${programs[@]/#/$shipped/}"
	for program in "${programs[@]}"; do
		mkdir -p "$root/usr/share/man/man1"
		"$shipped/$program" manual | gzip -9n >"$root/usr/share/man/man1/$program.1.gz"
		mapfile -t pages < <(commands_of "$program")
		[[ ${#pages[@]} -gt 3 ]] || { echo "package: the commands of $program were not found in its help" >&2; exit 1; }
		for page in "${pages[@]}"; do
			"$shipped/$program" manual "$page" | gzip -9n >"$root/usr/share/man/man1/$program-$page.1.gz"
		done
		complete "$program" bash "$root/usr/share/bash-completion/completions/$program"
		complete "$program" zsh "$root$zsh/_$program"
		complete "$program" fish "$root/usr/share/fish/vendor_completions.d/$program.fish"
	done
	local doc=$root/usr/share/doc/iosched
	install -D -m 644 -t "$doc" README.md CHANGELOG.md LICENSE-*
	gzip -9n "$doc/CHANGELOG.md"
	cp -r docs "$doc/docs"
	install -D -m 755 -t "$doc/examples" contrib/propose-*
	cp -r contrib/{ci,ansible,duckdb,grafana,prometheus} "$doc/examples/"
	cp "$work/sbom.cdx.json" "$doc/"
	chmod -R u=rwX,go=rX "$root"
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# The names below "Commands:", without help, which clap adds.
commands_of() { "$shipped/$1" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -vxE 'help'; }

complete() {
	mkdir -p "${3%/*}"
	"$shipped/$1" completions "$2" >"$3"
}

# The C libraries that are linked in, as name, version and licence; libbpf is that of the crate libbpf-sys.
c_libraries() {
	printf '%s v%s|%s\n' libelf "$(pkg-config --modversion libelf)" "GPL-2.0-or-later OR LGPL-3.0-or-later" \
		zlib "$(pkg-config --modversion zlib)" Zlib glibc "$(ldd --version | awk '{ print $NF; exit }')" LGPL-2.1-or-later
}

# What is compiled in, and under which licence.
sbom() {
	{ c_libraries; cargo tree --locked --edges normal --prefix none --format '{p}|{l}' --package iosched-ab --package iosched-tui --package iosched-read; } |
		sed -E 's/ \((\*|proc-macro)\)//g; s/ \(\/[^)]*\)/ (own)/' | sort -u | jq --raw-input --slurp --arg version "$version" --argjson epoch "$SOURCE_DATE_EPOCH" '
			{
				bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
				metadata: {
					timestamp: ($epoch | todate),
					component: {type: "application", name: "iosched", version: $version, licenses: [{expression: "MIT OR Apache-2.0"}]}
				},
				components: [split("\n")[] | select(length > 0 and (contains("(own)") | not))
					| capture("^(?<name>\\S+) v(?<version>\\S+)[^|]*\\|(?<licence>.*)$") | {
					type: "library", name, version,
					purl: "pkg:\(if .name | IN("libelf", "zlib", "glibc") then "generic" else "cargo" end)/\(.name)@\(.version)",
					licenses: (if .licence == "" then [] else [{expression: (.licence | gsub("/"; " OR "))}] end)
				}]
			}'
}

deb() {
	local root=$work/deb arch
	arch=$(dpkg --print-architecture)
	fill "$root" /usr/share/zsh/vendor-completions
	mkdir -m 755 "$root/DEBIAN"
	sed -e "s/@version@/$version/" -e "s/@arch@/$arch/" -e "s/@size@/$(du -sk "$root/usr" | cut -f 1)/" \
		contrib/package/control >"$root/DEBIAN/control"
	install -m 755 contrib/package/postrm "$root/DEBIAN/postrm"
	find "$root/DEBIAN" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zxz -b "$root" "$out/iosched_${version}_$arch.deb" >/dev/null
}

rpm() {
	local root=$work/rpm
	fill "$root" /usr/share/zsh/site-functions
	mkdir -p "$work/rpmbuild"
	(cd "$root" && find . \( -type f -o -type l \) -printf '/%P\n' | sort) >"$work/files"
	rpmbuild -bb --quiet --target "$(uname -m)" --define "_topdir $work/rpmbuild" --define "_rpmdir $out" \
		--define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" --define "version $version" \
		--define "tree $root" --define "listed $work/files" --define "_buildhost localhost" --define "_binary_payload w6.xzdio" \
		--define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" \
		contrib/package/iosched.spec
}

rm -rf "$out"
mkdir -p "$out"
sbom >"$work/sbom.cdx.json"
cp "$work/sbom.cdx.json" "$out/"
deb
if command -v rpmbuild >/dev/null; then rpm; else echo "package: no rpm: rpmbuild is not installed" >&2; fi
(cd "$out" && find . -type f ! -name SHA256SUMS -printf "%P\n" | sort | xargs sha256sum >SHA256SUMS)
# What users get is what was tested.
for program in "${programs[@]}"; do
	dpkg-deb --fsys-tarfile "$out"/*.deb | tar -xO "./usr/bin/$program" | cmp - "$shipped/$program"
done
ls -l "$out"
