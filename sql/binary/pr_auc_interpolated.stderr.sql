/*
summary: >-
  standard error of the area by the infinitesimal jackknife, linearised for weights, and the area
  from the same segments
*/
-- The variance comes from the infinitesimal jackknife; average_precision.stderr.sql explains it.
SELECT
    slice,
    CAST(SUM(positives * precision) AS DOUBLE) / NULLIF(MAX(total_positives), 0) AS value,
    SQRT(GREATEST(
        SUM(positive_squares * POWER(miss - raised, 2))
        - 2e0 * SUM(positive_squares * (miss - raised)) * SUM(positives * miss)
            / NULLIF(MAX(total_positives), 0)
        + POWER(SUM(positives * miss), 2) / NULLIF(MAX(total_positives), 0)
            * (CAST(SUM(positive_squares) AS DOUBLE) / NULLIF(MAX(total_positives), 0))
        + SUM(lowered_squares),
        0e0
    )) / NULLIF(MAX(total_positives), 0) AS stderr,
    LEAST(
        POWER(SUM(positives * precision), 2) / NULLIF(SUM(positive_squares * POWER(precision, 2)), 0),
        MAX(total_negatives)
            * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0))
    ) - 1e0 AS degrees,
    LEAST(
        25e-2 * LEAST(
            MAX(total_positives)
                * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0)),
            MAX(total_negatives)
                * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0)),
            -- A few heavy negatives among the positives at the top can decide alone.
            MAX(total_negatives)
                * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0))
                * (CAST(MAX(total_positive_squares) AS DOUBLE) / NULLIF(MAX(total_positives), 0))
                * (
                    MAX(total_positives)
                        * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0))
                    + MAX(total_negatives)
                        * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0))
                ) / NULLIF(MAX(total_positives) + MAX(total_negatives), 0)
        ),
        5e0 * POWER(
            MAX(total_positives)
                * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0)),
            2
        ) / NULLIF(
            MAX(total_positives)
                * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0))
                + MAX(total_negatives)
                    * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0)),
            0
        )
    ) AS support,
    CASE WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels' END AS note
FROM (
    SELECT
        slice,
        positives,
        positive_squares,
        total_positives,
        0 AS total_negatives,
        0 AS total_positive_squares,
        0 AS total_negative_squares,
        curved_precision AS precision,
        curved_miss AS miss,
        curved_raised AS raised,
        curved_squares AS lowered_squares
    FROM area_influences
    UNION ALL
    SELECT
        slice,
        0 AS positives,
        0 AS positive_squares,
        total_positives,
        total_negatives,
        total_positive_squares,
        total_negative_squares,
        0e0 AS precision,
        0e0 AS miss,
        0e0 AS raised,
        0e0 AS lowered_squares
    FROM totals
) AS units
GROUP BY slice
