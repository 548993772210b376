# What contrib/ansible-test.sh expects of the playbooks; it sources this. Each expectation looks at files and sysfs.
# shellcheck shell=bash disable=SC2154 # variables of the script that sources this

results=$place/results
quick=(-e experiment_results="$results" -e '{"experiment_arms": ["none", "mq-deadline"], "experiment_workload": "randread"}'
	-e '{"experiment_options": ["--rounds=6", "--round-time=0.5s", "--ramp=0.2s", "--metric=throughput", "--reference=none"]}'
	-e experiment_poll=2 -e experiment_reconnect=4 -e experiment_serial=100% iosched.fleet.experiment)

test_hosts() {
	make_hosts
	experiment_check_mode
	experiment_with_a_killed_host
	experiment_again
	rule_overridden
	rule_check_mode
	rule_rolled_out
	rule_rolled_back
}

# In log: changed=N of a host.
changed() { sed -n "s/^$1 .* changed=\([0-9]*\) .*/\1/p" "$place/log"; }
all_as_before() {
	local host
	for host in "${hosts[@]}"; do is_as_before "$host" || { diff <(echo "${before[$host]}") <(state "$host"); return 1; }; done
}
nothing_changed() {
	local host
	for host in "${hosts[@]}"; do [[ $(changed "$host") == 0 ]] || return 1; done
}
in_log() { grep -q -- "$1" "$place/log" || { tail -50 "$place/log"; return 1; }; }
code_is() { [[ $code -eq $1 ]] || { tail -50 "$place/log"; return 1; }; }
code_is_not_0() { [[ $code -ne 0 ]]; }
not_exists() { [[ ! -e $1 ]]; }

experiment_check_mode() {
	say "experiment --check"
	play --check "${quick[@]}"
	expect "it ends well" code_is 0
	expect "the plan is shown" in_log 'block 6:'
	expect "nothing has changed" nothing_changed
	expect "no result" not_exists "$results"
	expect "all disks as before" all_as_before
	expect "no directory on a host" on h1 test ! -e /var/lib/iosched/ansible
}

# All processes of the host but those that keep it up, and the guardian of iosched.
kill_host() {
	local pid
	for pid in "${sshd[$1]}" $(pids "$1"); do
		[[ $pid != "${keeper[$1]}" && $pid != $(<"$place/$1/udevd.pid") ]] || continue
		grep -qs __guardian "/proc/$pid/cmdline" && [[ ${2:-} != guardian ]] || kill -9 "$pid" 2>/dev/null || true
	done
}
has_another_scheduler() { [[ $(scheduler "$1") != none ]]; }

experiment_with_a_killed_host() {
	local player
	say "experiment, one host is killed in the middle"
	(play "${quick[@]}"; echo "$code" >"$place/code") &
	player=$!
	expect "h2 is in the middle of its run" wait_until 60 has_another_scheduler h2
	kill_host h2
	expect "its disk is as before within 10 s" wait_until 10 is_as_before h2
	wait "$player"
	code=$(<"$place/code")
	expect "the play fails" code_is_not_0
	expect "the last message names it" last_message_names h2
	expect "h1 has a result" has_result h1
	expect "h3 has a result" has_result h3
	expect "h2 has none" not_exists "$results/h2.json"
	expect "the other two are merged" merged_are "h1 h3"
	expect "all disks as before" all_as_before
	expect "nothing is left on h1" no_run_is_left h1
}
last_message_names() {
	local last
	last=$(grep '^\(fatal\|ok\|changed\): ' "$place/log" | tail -1)
	[[ $last == *"Hosts without a result: $1."* ]] || { tail -30 "$place/log"; return 1; }
}
has_result() { [[ $(jq -r '.status + " " + .environment.hostname' "$results/$1.json") == "complete $1" ]]; }
merged_are() {
	[[ $(jq -r '[.groups[].hosts[].name] | sort | join(" ")' "$results/fleet.json") == "$1" ]] &&
		for host in $1; do grep -q "$host" "$results/fleet.html" || return 1; done
}
no_run_is_left() { on "$1" bash -c '! compgen -G "/var/lib/iosched/ansible/*"'; }

experiment_again() {
	local player
	# One host at a time: h2 is all of its batch, and Ansible ends a play where all of a batch have failed.
	say "experiment again, h2 is killed together with its guardian"
	start_sshd h2
	(play "${quick[@]}" -e experiment_serial=1; echo "$code" >"$place/code") &
	player=$!
	expect "h2 is in the middle of its run" wait_until 60 has_another_scheduler h2
	kill_host h2 guardian
	wait "$player"
	code=$(<"$place/code")
	# Whether its scheduler is another one now depends on the round in which it was killed.
	expect "the play fails" code_is_not_0
	expect "the last message names it" last_message_names h2
	expect "h1 was not measured again" test "$(changed h1)" = 0

	say "experiment once more"
	start_sshd h2
	play "${quick[@]}"
	expect "it ends well" code_is 0
	expect "h2 has a result" has_result h2
	expect "all are merged" merged_are "h1 h2 h3"
	expect "all disks as before" all_as_before

	say "experiment with all results there"
	play "${quick[@]}"
	expect "it ends well" code_is 0
	expect "nothing has changed" nothing_changed
}

rules=$place/61-iosched.rules
rule=/etc/udev/rules.d/61-iosched.rules
persist=(-e persist_rules="$rules" iosched.fleet.persist)
has_scheduler() { [[ $(scheduler "$1") == "$2" ]]; }
has_rule() { on "$1" cmp -s "$rule" - <"$rules" && [[ $(on "$1" stat -c '%U %a' "$rule") == "root 644" ]]; }
has_no_rule() { on "$1" test ! -e "$rule"; }

# The sample result supports bfq. For the second kind of disk it stands for a result that supports kyber.
make_rules() {
	local each
	for each in TESTSER1 TESTSER2; do
		"$place/bin/iosched-ab" persist tests/data/report/result.json --arm bfq --accept throughput \
			--serial "$each" --unchecked-serial --trust >"$place/$each.rules"
	done
	sed -i 's/="bfq"/="kyber"/; s/"scheduler":"bfq"/"scheduler":"kyber"/' "$place/TESTSER2.rules"
	cat "$place"/TESTSER[12].rules >"$rules"
	chmod 644 "$rules"
}

rule_overridden() {
	say "a rule that another one overrides"
	make_rules
	printf 'KERNEL=="%s", ATTR{queue/scheduler}="kyber"\n' "${disk[h1]}" | on h1 tee /etc/udev/rules.d/99-other.rules >/dev/null
	play "${persist[@]}"
	expect "the play fails" code_is_not_0
	expect "it says which rule is in the way" in_log '99-other.rules:1'
	expect "the rule is gone from h1" has_no_rule h1
	expect "all disks as before" all_as_before
	expect "h2 was not touched" test -z "$(changed h2)"
	expect "h3 was not touched" has_no_rule h3
	on h1 rm /etc/udev/rules.d/99-other.rules
}

rule_check_mode() {
	say "persist --check --diff"
	play --check --diff "${persist[@]}"
	expect "it ends well" code_is 0
	expect "the rule is shown" in_log '+ACTION=='
	expect "there is no rule" has_no_rule h1
	expect "all disks as before" all_as_before
}

rule_rolled_out() {
	local host
	say "persist, first to one host of each kind"
	play "${persist[@]}" -e persist_canary=h1,h3
	expect "it ends well" code_is 0
	for host in "${hosts[@]}"; do expect "$host has the rule" has_rule "$host"; done
	expect "h1 has its scheduler" has_scheduler h1 bfq
	expect "h2 has its scheduler" has_scheduler h2 bfq
	expect "h3 has its scheduler" has_scheduler h3 kyber
	say "persist again"
	play "${persist[@]}"
	expect "it ends well" code_is 0
	expect "nothing has changed" nothing_changed
}

rule_rolled_back() {
	local host
	say "rollback --check"
	play --check iosched.fleet.rollback
	expect "it ends well" code_is 0
	expect "the rule is still there" has_rule h1
	say "rollback"
	play iosched.fleet.rollback
	expect "it ends well" code_is 0
	for host in "${hosts[@]}"; do expect "$host has no rule" has_no_rule "$host"; done
	expect "all disks as before" all_as_before
	expect "nothing is left on h1" no_run_is_left h1
	say "rollback again"
	play iosched.fleet.rollback
	expect "nothing has changed" nothing_changed
}
