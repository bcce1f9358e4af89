/*
summary: mean loss of a model and of the baseline, and the variance of the difference per row
reference: the paired t-test of Student (1908)
*/
SELECT
    slice,
    COUNT(*) AS n,
    AVG(loss) AS model_value,
    AVG(baseline_loss) AS baseline_value,
    -- COVAR_POP is computed around the mean, because sums of squares would cancel.
    COVAR_POP(loss - baseline_loss, loss - baseline_loss) AS variance
FROM losses
GROUP BY slice
