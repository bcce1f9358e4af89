/*
summary: geometric mean of precision and recall
formula: sqrt(P R) = tp / sqrt((tp + fp) (tp + fn))
direction: higher
range: 0 .. 1
interval: delta
reference: Fowlkes and Mallows (1983), doi:10.2307/2288117
aliases: [fowlkes_mallows_index]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tp AS DOUBLE)
        / NULLIF(SQRT(CAST(tp + fp AS DOUBLE)) * SQRT(CAST(tp + fn AS DOUBLE)), 0) AS value,
    -- Delta method for multinomial counts (Agresti 2013, section 16.1), as sums of products:
    -- differences would cancel where nearly all rows are right.
    5e-1 * SQRT(
        CAST(tp AS DOUBLE) / NULLIF(CAST(tp + fp AS DOUBLE) * (tp + fn), 0) * (
            POWER(
                CAST(fp AS DOUBLE) / NULLIF(tp + fp, 0) + CAST(fn AS DOUBLE) / NULLIF(tp + fn, 0), 2
            )
            + tp * (
                CAST(fp AS DOUBLE) / NULLIF(POWER(CAST(tp + fp AS DOUBLE), 2), 0)
                + CAST(fn AS DOUBLE) / NULLIF(POWER(CAST(tp + fn AS DOUBLE), 2), 0)
            )
        )
    ) AS stderr,
    -- 20 positives are enough, of a count 5: positives count a quarter.
    LEAST(1e0 * tp, 1e0 * (fp + fn), 25e-2 * (tp + fn)) AS support,
    CASE
        WHEN tp + fn = 0 THEN 'no positive labels'
        WHEN tp + fp = 0 THEN 'no predicted positives'
    END AS note
FROM outcomes
