-- How the same arm fares under each series of kernels: the median ratio to the reference over hosts, and how many call it worse.
--   duckdb -c ".read kernels.sql"
SELECT
    coalesce(device->>'model', 'no model') AS model,
    regexp_extract(environment->>'kernel_release', '^\d+\.\d+') AS kernel,
    row->'metric'->>'name' AS metric,
    row->>'arm' AS arm,
    count(DISTINCT environment->>'hostname') AS hosts,
    median((row->>'ratio')::DOUBLE) AS median_ratio,
    count(*) FILTER (row->>'verdict' = 'worse') AS worse
FROM read_json('*.json',
    columns = {environment: 'JSON', device: 'JSON', comparisons: 'JSON[]'},
    maximum_object_size = 268435456)
    CROSS JOIN unnest(comparisons) AS comparison(row)
WHERE (row->>'primary')::BOOLEAN
GROUP BY ALL
ORDER BY ALL;
