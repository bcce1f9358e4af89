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
    -- On the segment from (0, 0), precision is constant. On others tp and n = tp + fp are linear in
    -- x from -1 to 1, and the mean of tp / n is (tp_m A - tp_h B) / n_m with the midpoints tp_m and
    -- n_m, the half changes tp_h and n_h, z = n_h / n_m, A = (integral of 1 / (1 + z x)) / 2 and B
    -- = (A - 1) / z. The published form of the integral is a difference, which cancels where light
    -- positives lie below heavy negatives.
    SUM((tp - tp_above) * CASE
        WHEN n_above > 0
        THEN (tp + tp_above) * mean_inverse - (tp - tp_above) * CASE
            WHEN z < 1e-2 THEN z * (
                3.333333333333333e-1 + z * z * (2e-1 + z * z * 1.4285714285714285e-1)
            )
            ELSE (mean_inverse - 1e0) / NULLIF(z, 0)
        END
        ELSE CAST(tp AS DOUBLE)
    END * (1e0 / NULLIF(n + n_above, 0))) / NULLIF(MAX(total_positives), 0) AS value,
    CASE WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels' END AS note
FROM (
    SELECT
        slice,
        tp,
        tp_above,
        n,
        n_above,
        total_positives,
        z,
        -- LN of a ratio close to 1 loses digits, but its series does not.
        CASE
            WHEN z < 1e-2 THEN 1e0 + z * z * (
                3.333333333333333e-1 + z * z * (2e-1 + z * z * 1.4285714285714285e-1)
            )
            ELSE 5e-1 * LN(CAST(n AS DOUBLE) / NULLIF(n_above, 0)) / NULLIF(z, 0)
        END AS mean_inverse
    FROM (
        SELECT
            slice,
            tp,
            tp_above,
            total_positives,
            CAST(tp + fp AS DOUBLE) AS n,
            CAST(tp_above + fp_above AS DOUBLE) AS n_above,
            CAST((tp - tp_above) + (fp - fp_above) AS DOUBLE)
                / NULLIF(tp + fp + tp_above + fp_above, 0) AS z
        FROM segments
    ) AS sizes
) AS parts
GROUP BY slice
