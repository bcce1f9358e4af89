/*
summary: ROC AUC from the positives' places in one sort of the rows
formula: (R+ - P (P + 1) / 2) / (P N), R+ the sum of the positives' mean ranks
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
task: two classes
weights: none
since: 0.1.0
when: unweighted rows
*/
-- From 2^-10 on every DOUBLE below 1 is a whole multiple of 2^-62. Times 2^63, it leaves the last
-- bit of a BIGINT to the label: a sort of eight bytes that carries nothing along, a third faster.
-- Other scores, and those of other types, are sorted as they are. `won` is twice the pairs of the
-- same part that are in order. DuckDB 1.5 hands a bare `score < 1` down to each Parquet file, and
-- rounds the 1 to the type that the column has there; it hands no product down.
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
        -- Of a tie the negatives come first, as if all its pairs were in order: half too much.
        -- Only its first row has no tie, and that is a negative if it has any.
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
                        -- TRY, as DuckDB may compute this before it leaves a NaN out.
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
        -- Summed over the positives: where each stands by its score, twice where it stands with the
        -- negatives of its tie first, and which of the tie's positives it is. That is twice its
        -- pairs that are in order, a tie as half, and what is due to positives alone.
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
