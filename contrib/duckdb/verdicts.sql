-- Every verdict of every host. Run in a folder of results of `iosched-ab run`:
--   duckdb -c ".read verdicts.sql"
SELECT
    environment->>'hostname' AS host,
    coalesce(device->>'model', 'no model') AS model,
    environment->>'kernel_release' AS kernel,
    workload->>'name' AS workload,
    row->'metric'->>'name' AS metric,
    row->>'arm' AS arm,
    row->>'reference' AS reference,
    (row->>'ratio')::DOUBLE AS ratio,
    row->>'verdict' AS verdict
FROM read_json('*.json',
    columns = {schema_version: 'INTEGER', environment: 'JSON', device: 'JSON', workload: 'JSON', comparisons: 'JSON[]'},
    maximum_object_size = 268435456)
    CROSS JOIN unnest(comparisons) AS comparison(row)
WHERE (row->>'primary')::BOOLEAN
ORDER BY model, kernel, metric, arm, host;
