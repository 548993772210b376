#!/usr/bin/env bash
# Tests are built with the features that dev-dependencies turn on, programs without them: what passes in a test may fail in
# the program. Compares the features of each direct dependency with and without dev-dependencies; each difference needs
# a line with its reason in contrib/features.txt, and each line there a difference.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH" LC_ALL=C CARGO_TERM_COLOR=never
reasons=contrib/features.txt
all=$(mktemp)
trap 'rm -f "$all"' EXIT

# The crates of the workspace.
crates=$(cargo metadata --locked --no-deps --format-version 1 | jq -r '.packages[].name')
[[ -n $crates ]] || { echo "features: cargo metadata names no crate" >&2; exit 1; }

# "DEPENDENCY FEATURE" for each feature of each direct dependency of a crate. $2: the kinds of dependencies.
features() {
	cargo tree --locked -p "$1" -e "$2" -f '{p}|{f}' --depth 1 --prefix depth |
		sed -nE 's/^1([^ ]+) [^|]*\|([^ ]*).*$/\1 \2/p' |
		awk '{n = split($2, each, ","); print $1, "-"; for (i = 1; i <= n; i++) print $1, each[i]}' | sort -u
}

# "CRATE DEPENDENCY FEATURE" for what is on in tests alone. What only tests depend on is in no program.
found=$(for crate in $crates; do
	programs=$(features "$crate" normal)
	[[ -n $programs ]] || { echo "features: cargo tree shows no dependency of $crate" >&2; exit 1; }
	comm -13 <(echo "$programs") <(features "$crate" normal,dev) |
		awk -v crate="$crate" -v programs="$programs" 'BEGIN {
			n = split(programs, lines, "\n"); for (i = 1; i <= n; i++) { split(lines[i], word, " "); used[word[1]] = 1 } }
			$1 in used {print crate, $0}'
done | sort)

if unclear=$(grep -nvE '^(#.*|[^ #]+ [^ #]+ [^ #]+ # .+)?$' "$reasons"); then
	echo "features: $reasons has lines that are not CRATE DEPENDENCY FEATURE # REASON:"$'\n'"$unclear" >&2
	exit 1
fi
explained=$(sed -nE 's/^([^ #]+ [^ #]+ [^ #]+) # .*/\1/p' "$reasons" | sort)
# A line for all crates stands for each that has the difference.
while read -r crate dependency feature; do
	if grep -qxF "* $dependency $feature" <<<"$explained"; then echo "* $dependency $feature"; else echo "$crate $dependency $feature"; fi
done <<<"$found" | sort -u >"$all"
found=$(<"$all")
code=0
while read -r crate dependency feature; do
	[[ -n $crate ]] || continue
	code=1
	echo "features: $dependency has the feature $feature in the tests of $crate, but not in what users build: turn it on under" \
		"[dependencies], off in the dev-dependency that needs it, or say in $reasons why the program never needs it" >&2
done < <(comm -23 <(echo "$found") <(echo "$explained"))
while read -r line; do
	[[ -n $line ]] || continue
	code=1
	echo "features: $reasons explains \"$line\", which is no difference any more: remove the line" >&2
done < <(comm -13 <(echo "$found") <(echo "$explained"))
[[ $code -ne 0 ]] || echo "features: tests and programs have the same, but for $(grep -c . <<<"$explained") in $reasons"
exit "$code"
