/*
summary: >-
  area under the precision-recall curve; between its points, false positives grow linearly with true
  positives
formula: sum over thresholds of the integral of tp / (tp + fp(tp)) d tp, divided by P
direction: higher
range: 0 .. 1
interval: delta
reference: Davis and Goadrich (2006), doi:10.1145/1143844.1143874; Keilwagen, Grosse and Grau (2014)
task: two classes
weights: frequency
bound: precision
units: runs
since: 0.1.0
*/
-- The variance is that of the infinitesimal jackknife; average_precision.intervals.sql explains it.
SELECT
    slice,
    CAST(SUM(positives * precision) AS DOUBLE) / NULLIF(MAX(total_positives), 0) AS value,
    SQRT(GREATEST(
        SUM(positives * POWER(miss - raised, 2))
        - 2e0 * SUM(positives * (miss - raised)) * SUM(positives * miss)
            / NULLIF(MAX(total_positives), 0)
        + POWER(SUM(positives * miss), 2) / NULLIF(MAX(total_positives), 0)
        + SUM(squares),
        0e0
    )) / NULLIF(MAX(total_positives), 0) AS stderr,
    LEAST(
        POWER(SUM(positives * precision), 2) / NULLIF(SUM(positives * POWER(precision, 2)), 0),
        1e0 * MAX(total_negatives)
    ) - 1e0 AS degrees,
    LEAST(
        25e-2 * LEAST(MAX(total_positives), MAX(total_negatives)),
        5e0 * POWER(MAX(total_positives), 2) / NULLIF(MAX(total_positives) + MAX(total_negatives), 0)
    ) AS support,
    CASE WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels' END AS note
FROM (
    SELECT
        slice,
        positives,
        total_positives,
        0 AS total_negatives,
        curved_precision AS precision,
        curved_miss AS miss,
        curved_raised AS raised,
        curved_squares AS squares
    FROM segment_changes
    UNION ALL
    SELECT
        slice,
        0 AS positives,
        total_positives,
        total_negatives,
        0e0 AS precision,
        0e0 AS miss,
        0e0 AS raised,
        0e0 AS squares
    FROM totals
) AS units
GROUP BY slice
