#!/usr/bin/env bash
# Runs a command whose output nobody reads while it succeeds: on a terminal its last line, and all of it in a log.
# If it fails, the end of the log and its path. Usage: contrib/quietly.sh LOG WHAT COMMAND [ARGUMENT...]
set -uo pipefail
log=$1 what=$2
shift 2
mkdir -p "$(dirname "$log")"
echo "$what (log: $log)"
# A group of its own, so that all that it started ends with it.
set -m
"$@" >"$log" 2>&1 &
command=$!
set +m
trap 'kill -TERM -- "-$command" 2>/dev/null' INT TERM HUP
if [[ -t 1 ]]; then
	while kill -0 "$command" 2>/dev/null; do
		columns=$(tput cols 2>/dev/null || echo 80)
		line=$(tail -n 1 "$log" | tr -cd '[:print:]')
		printf '\r\033[K%s' "${line:0:columns-1}"
		sleep 0.5
	done
	printf '\r\033[K'
fi
wait "$command"
code=$?
if [[ $code -ne 0 ]]; then
	tail -n 20 "$log" >&2
	echo "failed: $* (exit code $code); all of its output is in $log" >&2
fi
exit "$code"
