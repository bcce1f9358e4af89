/*
summary: ROC AUC from the row numbers of the positives in one sort of the rows
formula: (R+ - P (P + 1) / 2) / (P N), R+ the sum of the positives' mean ranks
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
task: two classes
weights: none
since: 0.1.0
when: unweighted rows
*/
-- Every DOUBLE from 2^-10 to below 1 is a whole multiple of 2^-62. Multiplied by 2^63, as a BIGINT,
-- its last bit is free for the label, and sorting only these eight bytes is a third faster. Other
-- scores and types are sorted as they are. `won` is twice the number of ordered pairs within a
-- part. The conditions compare a product with 1, because DuckDB 1.5 pushes a bare `score < 1` down
-- into each Parquet file, where it rounds the 1 to the type of the column. It pushes no product
-- down.
SELECT
    slice,
    CAST(SUM(won) + 2 * (SUM(inner_positives) * SUM(below) + SUM(above) * SUM(inner_negatives))
        AS DOUBLE)
        / NULLIF(2e0 * SUM(positives) * SUM(negatives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        -- The negatives of a tie sort first, so all pairs of a tie count as ordered, twice their
        -- due. The first row of a tie has NULL as `tie`; it is a negative if the tie has any.
        2 * SUM(places) - SUM(labels) * (SUM(labels) + 1)
            - SUM(CASE WHEN tie IS NOT NULL AND first_label = 0 THEN labels * (n - labels + 1)
                ELSE 0 END) AS won,
        SUM(labels) AS positives,
        SUM(n - labels) AS negatives,
        SUM(labels) AS inner_positives,
        SUM(n - labels) AS inner_negatives,
        0 AS below,
        0 AS above
    FROM (
        SELECT
            slice,
            tie,
            SUM(label * place) AS places,
            SUM(label) AS labels,
            COUNT(*) AS n,
            MIN(first_of_tie) AS first_label
        FROM (
            SELECT
                slice,
                unit & 1 AS label,
                place,
                CASE WHEN unit >> 1 = unit_before >> 1 THEN unit >> 1 END AS tie,
                unit_before & 1 AS first_of_tie
            FROM (
                SELECT
                    slice,
                    unit,
                    ROW_NUMBER() OVER (PARTITION BY slice ORDER BY unit) AS place,
                    LAG(unit) OVER (PARTITION BY slice ORDER BY unit) AS unit_before
                FROM (
                    SELECT
                        slice,
                        -- TRY_CAST, because DuckDB may compute this before it filters out a NaN.
                        TRY_CAST(score * 4611686018427387904e0 AS BIGINT) * 2 + label AS unit
                    FROM predictions
                    WHERE TYPEOF(score) = 'DOUBLE' AND score * 1024e0 >= 1 AND score * 1024e0 < 1024
                ) AS units
            ) AS placed
        ) AS inner_rows
        GROUP BY
            slice,
            tie
    ) AS inner_ties
    GROUP BY slice
    UNION ALL
    SELECT
        slice,
        -- Sum over the positives low_rank, place, and place - pair_rank + 1 (the number of a
        -- positive within its tie). Per positive this is twice its ordered pairs, ties as half,
        -- plus a part that depends on positives only: P (P + 2) in total, which is subtracted.
        SUM(CASE WHEN label = 1 THEN low_rank + 2 * place - pair_rank + 1 ELSE 0 END)
            - SUM(label) * (SUM(label) + 2) AS won,
        SUM(label) AS positives,
        COUNT(*) - SUM(label) AS negatives,
        0 AS inner_positives,
        0 AS inner_negatives,
        SUM(CASE WHEN label = 0 AND score < 1 THEN 1 ELSE 0 END) AS below,
        SUM(CASE WHEN label = 1 AND score >= 1 THEN 1 ELSE 0 END) AS above
    FROM (
        SELECT
            slice,
            label,
            score,
            RANK() OVER (PARTITION BY slice ORDER BY score) AS low_rank,
            ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score, label) AS place,
            RANK() OVER (PARTITION BY slice ORDER BY score, label) AS pair_rank
        FROM predictions
        WHERE NOT (TYPEOF(score) = 'DOUBLE' AND score * 1024e0 >= 1 AND score * 1024e0 < 1024)
    ) AS outer_rows
    GROUP BY slice
) AS parts
GROUP BY slice
