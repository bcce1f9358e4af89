/*
summary: >-
  Hosmer and Lemeshow's statistic: squared differences of observed and expected positives over bins
  of equal mass, in units of their variance; close to bins - 2 if a fitted model is calibrated
formula: >-
  sum over bins of (O - E)^2 / (n_b q (1 - q)), q = E / n_b, a chi-squared with bins - 2 degrees of
  freedom on the rows of the fit, and with bins on new rows; bins are quantiles as in R's
  hoslem.test; with sampling weights, the sum of squared weights stands for n_b
direction: lower
range: 0 .. inf
domain: "score: 0 .. 1"
expectation: none
reference: Hosmer and Lemeshow (1980), doi:10.1080/03610928008827941
aliases: [hoslem]
task: two classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    SUM(
        CAST(positives - score_sum AS DOUBLE) * (positives - score_sum)
            / NULLIF(
                squared_weights * (CAST(score_sum AS DOUBLE) / NULLIF(n, 0))
                    * (1e0 - CAST(score_sum AS DOUBLE) / NULLIF(n, 0)),
                0
            )
    ) * CASE WHEN MIN(score_sum) > 0 AND MIN(n - score_sum) > 0 THEN 1e0 END AS value,
    CASE
        WHEN COALESCE(SUM(n), 0) = 0 THEN 'total weight is 0'
        WHEN MIN(score_sum) = 0 OR MIN(n - score_sum) <= 0
        THEN 'all probabilities of a bin are 0, or 1'
    END AS note
FROM quantile_bins
GROUP BY slice
