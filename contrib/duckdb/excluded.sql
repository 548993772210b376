-- Which hosts disturb their own measurements: rounds that do not count, by host and by reason.
--   duckdb -c ".read excluded.sql"
SELECT
    environment->>'hostname' AS host,
    coalesce(round->>'exclusion', 'counts') AS state,
    count(*) AS rounds,
    any_value(round->>'problem') AS example
FROM read_json('*.json',
    columns = {environment: 'JSON', rounds: 'JSON[]'},
    maximum_object_size = 268435456)
    CROSS JOIN unnest(rounds) AS each_round(round)
GROUP BY ALL
ORDER BY ALL;
