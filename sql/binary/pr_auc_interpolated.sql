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
SELECT
    slice,
    -- With s false positives for each true one, the integral from a to b is
    -- (b - a) / (1 + s) - c / (1 + s)^2 ln(n_b / n_a), where c = fp_a - s tp_a.
    SUM(
        CAST(tp - tp_above AS DOUBLE) / NULLIF(1e0 + skew, 0)
        - CASE WHEN n_above > 0
            THEN CAST(fp_above - skew * tp_above AS DOUBLE)
                / NULLIF(POWER(1e0 + skew, 2), 0) * log_ratio
            ELSE 0e0
        END
    ) / NULLIF(MAX(total_positives), 0) AS value,
    CASE WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels' END AS note
FROM (
    SELECT
        slice,
        tp,
        tp_above,
        fp_above,
        n_above,
        total_positives,
        skew,
        -- LN of a ratio close to 1 loses digits; its series in z = (n_b - n_a) / (n_b + n_a) does
        -- not.
        CASE
            WHEN tp = tp_above THEN 0e0
            WHEN z < 1e-2 THEN 2e0 * z * (
                1e0 + z * z * (
                    3.333333333333333e-1 + z * z * (2e-1 + z * z * 1.4285714285714285e-1)
                )
            )
            ELSE LN((1e0 + z) / NULLIF(1e0 - z, 0))
        END AS log_ratio
    FROM (
        SELECT
            slice,
            tp,
            tp_above,
            fp_above,
            tp_above + fp_above AS n_above,
            total_positives,
            CAST(fp - fp_above AS DOUBLE) / NULLIF(tp - tp_above, 0) AS skew,
            CAST(tp + fp - tp_above - fp_above AS DOUBLE)
                / NULLIF(tp + fp + tp_above + fp_above, 0) AS z
        FROM segments
    ) AS ratios
) AS parts
GROUP BY slice
