#!/usr/bin/env bash
# Checks the dependencies against deny.toml: licences, duplicates, bans, sources and known vulnerabilities. If the database
# of vulnerabilities cannot be fetched, it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

cargo deny --locked check licenses bans sources
# Fetched separately, so that a missing network is not mistaken for a result.
if why=$(timeout 60 cargo deny --locked fetch db 2>&1); then
	cargo deny --locked check advisories
	exit
fi
why=$(grep . <<<"$why" | tail -1)
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/.git/HEAD" >/dev/null; then
	echo "deny: using an older database of known vulnerabilities, because it cannot be fetched: $why"
	cargo deny --locked --offline check advisories
else
	echo "deny: KNOWN VULNERABILITIES WERE NOT CHECKED, because the database cannot be fetched: $why"
fi
