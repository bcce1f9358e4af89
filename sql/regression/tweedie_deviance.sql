/*
summary: >-
  mean Tweedie deviance; the power is 0 for the squared error, 1 for counts (Poisson), between 1 and
  2 for sums of claims with zeros, 2 for amounts (Gamma), 3 for the inverse normal distribution
formula: >-
  2 mean(max(label, 0)^(2 - power) / ((1 - power) (2 - power)) - label prediction^(1 - power) / (1 -
  power) + prediction^(2 - power) / (2 - power)), and its limits at 1 and 2
direction: lower
range: 0 .. inf
params:
  power: float = 0
reference: sklearn.metrics.mean_tweedie_deviance
aliases: [mean_tweedie_deviance]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN $power = 0 THEN (prediction - label) * (prediction - label)
        WHEN prediction <= 0 OR ($power > 0 AND $power < 1) THEN NULL
        WHEN ($power >= 2 AND label <= 0) OR ($power >= 1 AND label < 0) THEN NULL
        -- Where label and prediction are nearly equal, the terms cancel. It is the integral
        -- of 2 (label - t) / t^power from the prediction to the label, as a power series in x.
        WHEN label > 0 AND ABS(x) < 1e-2
        THEN 2e0 * EXP((2e0 - $power) * log_label) * x * x * (
            5e-1 - $power * x * (
                3.3333333333333333e-1 - ($power + 1e0) * 5e-1 * x * (
                    25e-2 - ($power + 2e0) * 3.3333333333333333e-1 * x * (
                        2e-1 - ($power + 3e0) * 25e-2 * x * (
                            1.6666666666666667e-1 - ($power + 4e0) * 2e-1 * x * (
                                1.4285714285714286e-1
                                - ($power + 5e0) * 1.6666666666666667e-1 * x * 125e-3
                            )
                        )
                    )
                )
            )
        )
        WHEN $power = 1
        THEN 2e0 * (
            CASE WHEN label > 0 THEN label * (log_label - log_prediction) ELSE 0e0 END - label + prediction
        )
        WHEN $power = 2
        THEN 2e0 * (log_prediction - log_label + CAST(label AS DOUBLE) / NULLIF(prediction, 0) - 1e0)
        ELSE 2e0 * (
            CASE
                WHEN label > 0
                -- As a power of e, because engines differ in powers of negative numbers.
                THEN EXP((2e0 - $power) * log_label) / NULLIF((1e0 - $power) * (2e0 - $power), 0)
                ELSE 0e0
            END
            - label * EXP((1e0 - $power) * log_prediction) / NULLIF(1e0 - $power, 0)
            + EXP((2e0 - $power) * log_prediction) / NULLIF(2e0 - $power, 0)
        )
    END AS row_value,
    CASE
        WHEN ($power <> 0 AND prediction <= 0)
            OR ($power > 0 AND $power < 1)
            OR ($power >= 2 AND label <= 0)
            OR ($power >= 1 AND label < 0)
        THEN 'no deviance: a power between 0 and 1, or a label or prediction that it does not allow'
    END AS note
FROM (
    SELECT
        slice,
        label,
        prediction,
        CAST(prediction - label AS DOUBLE) / NULLIF(label, 0) AS x,
        LN(CASE WHEN label > 0 THEN label END) AS log_label,
        LN(CASE WHEN prediction > 0 THEN prediction END) AS log_prediction
    FROM predictions
) AS compared
