/*
summary: >-
  mean precision over the positives, each taken at its own score; the area under the
  precision-recall curve as a step function
formula: sum over thresholds of (recall_i - recall_(i-1)) precision_i
direction: higher
range: 0 .. 1
interval: delta
reference: sklearn.metrics.average_precision_score
aliases: [average_precision_score]
task: two classes
weights: frequency
bound: precision
units: runs
since: 0.1.0
*/
SELECT
    slice,
    SUM(positives * (CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)))
        / NULLIF(SUM(positives), 0) AS value,
    -- Worst order within a bin: all negatives first, and positives that do not tie. The sum of tp /
    -- (tp + fp), with fp at the end of the bin, is at least its integral, and this at least a
    -- trapezoid, which loses no digits where the ratio is close to 1.
    CAST(SUM(
        CASE
            WHEN score_low = score_high THEN positives * (CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0))
            WHEN fp = 0 THEN positives
            WHEN positives < 1e-3 * (tp + fp)
            THEN 5e-1 * positives * (
                CAST(tp - positives AS DOUBLE) / NULLIF(tp - positives + fp, 0)
                + CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)
            )
            ELSE positives
                - fp * LN(CAST(tp + fp AS DOUBLE) / NULLIF(GREATEST(tp - positives, 0) + fp, 0))
        END
    ) AS DOUBLE) / NULLIF(SUM(positives), 0) AS low,
    -- Best order within a bin: all positives first, with one score.
    SUM(positives * (CAST(tp AS DOUBLE) / NULLIF(tp + fp_at_best, 0)))
        / NULLIF(SUM(positives), 0) AS high,
    CASE WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels' END AS note
FROM cutoffs
GROUP BY slice
