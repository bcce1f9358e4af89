/*
summary: harmonic mean of precision and recall
formula: 2 tp / (2 tp + fp + fn)
direction: higher
range: 0 .. 1
interval: delta
reference: sklearn.metrics.f1_score
aliases: [dice, f1_score]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(2 * tp AS DOUBLE) / NULLIF(2 * tp + fp + fn, 0) AS value,
    -- Delta method: 2 tp / (2 tp + fp + fn) is a function of the share tp / (tp + fp + fn), whose
    -- variance is that of a binomial share.
    2e0 * SQRT(CAST(tp AS DOUBLE) * (fp + fn) * (tp + fp + fn))
        / NULLIF(POWER(CAST(2 * tp + fp + fn AS DOUBLE), 2), 0) AS stderr,
    -- 20 positives are enough, of a count 5: positives count a quarter.
    LEAST(1e0 * tp, 1e0 * (fp + fn), 25e-2 * (tp + fn)) AS support,
    CASE WHEN 2 * tp + fp + fn = 0 THEN 'no positive labels and no predicted positives' END AS note
FROM outcomes
