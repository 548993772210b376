#!/usr/bin/awk -f
# Reads what cargo test printed, and names the tests that failed: source and name, a line each. Says "crashed" first if a
# test program ended without a result.
/^ +Doc-tests / { programs++ }
/^ +Running / {
	programs++
	source = $2 == "unittests" ? $3 : $2
}
/^failures:$/ { count = 0 }
/^    [a-z_0-9:]+$/ { names[count++] = $1 }
/^test result: / {
	results++
	if ($3 == "FAILED.") for (i = 0; i < count; i++) lines[++total] = source " " names[i]
	count = 0
}
END {
	if (programs != results) print "crashed"
	for (i = 1; i <= total; i++) print lines[i]
}
