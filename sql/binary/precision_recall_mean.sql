/*
summary: arithmetic mean of precision and recall
formula: (P + R) / 2
direction: higher
range: 0 .. 1
interval: delta
reference: numpy.mean # of sklearn.metrics.precision_score and recall_score
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    5e-1 * (CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0) + CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0)) AS value,
    -- Delta method, linearised for weights; f1.sql explains it. As sums of products: differences
    -- would cancel where nearly all rows are right.
    5e-1 * SQRT(
        tp_squares * POWER(
            CAST(fp AS DOUBLE) / NULLIF(POWER(CAST(tp + fp AS DOUBLE), 2), 0)
                + CAST(fn AS DOUBLE) / NULLIF(POWER(CAST(tp + fn AS DOUBLE), 2), 0),
            2
        )
        + fp_squares * POWER(CAST(tp AS DOUBLE) / NULLIF(POWER(CAST(tp + fp AS DOUBLE), 2), 0), 2)
        + fn_squares * POWER(CAST(tp AS DOUBLE) / NULLIF(POWER(CAST(tp + fn AS DOUBLE), 2), 0), 2)
    ) AS stderr,
    -- The effective numbers of rows, (sum w)^2 / sum w^2. 20 positives are enough, of a count 5:
    -- positives count a quarter.
    LEAST(
        COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
        COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0)
    ) AS support,
    CASE
        WHEN tp + fn = 0 THEN 'no positive labels'
        WHEN tp + fp = 0 THEN 'no predicted positives'
    END AS note
FROM outcomes
