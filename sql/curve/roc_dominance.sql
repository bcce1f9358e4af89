/*
summary: >-
  ranges of the false positive rate in which the ROC curve of one model lies above that of another;
  above is NULL where they coincide; roc_enclosure says what the ranges come to
formula: sign of tpr_a(fpr) - tpr_b(fpr), points joined by straight lines
order: model, other_model, from_fpr
across: model
reference: numpy.interp # of the two curves; its crossings are roots of the difference
task: two classes
types: {model: text, other_model: text, above: text}
weights: frequency
since: 0.1.0
*/
WITH rises AS (
    -- At one fpr a curve may rise vertically, from low to high.
    SELECT
        slice,
        curve,
        x,
        MIN(arrives) AS low,
        MAX(leaves) AS high
    FROM (
        SELECT
            slice,
            model AS curve,
            CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS x,
            CAST(CASE WHEN fp = fp_above THEN tp_above ELSE tp END AS DOUBLE)
                / NULLIF(total_positives, 0) AS arrives,
            CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS leaves
        FROM segments
        WHERE tp + fp > tp_above + fp_above AND total_positives > 0 AND total_negatives > 0
        UNION ALL
        SELECT
            slice,
            model AS curve,
            0e0 AS x,
            0e0 AS arrives,
            0e0 AS leaves
        FROM totals
        WHERE total_positives > 0 AND total_negatives > 0
    ) AS points
    GROUP BY
        slice,
        curve,
        x
),
curves AS (
    SELECT
        slice,
        curve
    FROM rises
    GROUP BY
        slice,
        curve
),
pairs AS (
    SELECT
        one.slice,
        one.curve AS a,
        two.curve AS b
    FROM curves AS one
    JOIN curves AS two USING (slice)
    WHERE one.curve < two.curve
),
places AS (
    -- Every fpr at which either curve has a point.
    SELECT
        slice,
        a,
        b,
        x,
        MAX(point_a_low) AS a_low,
        MAX(point_a_high) AS a_high,
        MAX(point_b_low) AS b_low,
        MAX(point_b_high) AS b_high
    FROM (
        SELECT
            pairs.slice,
            pairs.a,
            pairs.b,
            rises.x,
            CASE WHEN rises.curve = pairs.a THEN rises.low END AS point_a_low,
            CASE WHEN rises.curve = pairs.a THEN rises.high END AS point_a_high,
            CASE WHEN rises.curve = pairs.b THEN rises.low END AS point_b_low,
            CASE WHEN rises.curve = pairs.b THEN rises.high END AS point_b_high
        FROM pairs
        JOIN rises USING (slice)
        WHERE rises.curve = pairs.a OR rises.curve = pairs.b
    ) AS stacked
    GROUP BY
        slice,
        a,
        b,
        x
),
neighbours AS (
    -- Curves never fall: the previous point of a curve is its largest so far, the next one its
    -- smallest to come.
    SELECT
        slice,
        a,
        b,
        x,
        a_low,
        a_high,
        b_low,
        b_high,
        MAX(CASE WHEN a_high IS NOT NULL THEN x END) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS a_x_before,
        MAX(a_high) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS a_before,
        MIN(CASE WHEN a_high IS NOT NULL THEN x END) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS a_x_after,
        MIN(a_low) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS a_after,
        MAX(CASE WHEN b_high IS NOT NULL THEN x END) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS b_x_before,
        MAX(b_high) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS b_before,
        MIN(CASE WHEN b_high IS NOT NULL THEN x END) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS b_x_after,
        MIN(b_low) OVER (
            PARTITION BY slice, a, b ORDER BY x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS b_after
    FROM places
),
heights AS (
    SELECT
        slice,
        a,
        b,
        x,
        COALESCE(a_low, a_line) - COALESCE(b_low, b_line) AS arriving,
        COALESCE(a_high, a_line) - COALESCE(b_high, b_line) AS leaving
    FROM (
        SELECT
            slice,
            a,
            b,
            x,
            a_low,
            a_high,
            b_low,
            b_high,
            a_before + CAST((a_after - a_before) * (x - a_x_before) AS DOUBLE)
                / NULLIF(a_x_after - a_x_before, 0) AS a_line,
            b_before + CAST((b_after - b_before) * (x - b_x_before) AS DOUBLE)
                / NULLIF(b_x_after - b_x_before, 0) AS b_line
        FROM neighbours
    ) AS lines
),
stretches AS (
    -- Between two such fpr both curves are straight. Where they meet, the difference of two rates
    -- is off by rounding, which is no crossing.
    SELECT
        slice,
        a,
        b,
        x,
        next_x,
        CASE WHEN ABS(leaving) > 1e-12 THEN leaving ELSE 0e0 END AS left_gap,
        CASE WHEN ABS(next_arriving) > 1e-12 THEN next_arriving ELSE 0e0 END AS right_gap
    FROM (
        SELECT
            slice,
            a,
            b,
            x,
            leaving,
            LEAD(x) OVER (PARTITION BY slice, a, b ORDER BY x) AS next_x,
            LEAD(arriving) OVER (PARTITION BY slice, a, b ORDER BY x) AS next_arriving
        FROM heights
    ) AS steps
    WHERE next_x IS NOT NULL
),
pieces AS (
    SELECT
        slice,
        a,
        b,
        x AS piece_start,
        CASE WHEN left_gap * right_gap < 0
            THEN x + CAST((next_x - x) * left_gap AS DOUBLE) / NULLIF(left_gap - right_gap, 0)
            ELSE next_x
        END AS piece_end,
        CASE
            WHEN left_gap > 0 OR (left_gap = 0 AND right_gap > 0) THEN 1
            WHEN left_gap < 0 OR right_gap < 0 THEN -1
            ELSE 0
        END AS side
    FROM stretches
    UNION ALL
    SELECT
        slice,
        a,
        b,
        x + CAST((next_x - x) * left_gap AS DOUBLE) / NULLIF(left_gap - right_gap, 0) AS piece_start,
        next_x AS piece_end,
        CASE WHEN right_gap > 0 THEN 1 ELSE -1 END AS side
    FROM stretches
    WHERE left_gap * right_gap < 0
)
SELECT
    slice,
    a AS model,
    b AS other_model,
    MIN(piece_start) AS from_fpr,
    MAX(piece_end) AS to_fpr,
    CASE WHEN side > 0 THEN a WHEN side < 0 THEN b END AS above
FROM (
    SELECT
        slice,
        a,
        b,
        piece_start,
        piece_end,
        side,
        SUM(changes) OVER (
            PARTITION BY slice, a, b ORDER BY piece_start
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run
    FROM (
        SELECT
            slice,
            a,
            b,
            piece_start,
            piece_end,
            side,
            CASE WHEN side = LAG(side) OVER (PARTITION BY slice, a, b ORDER BY piece_start)
                THEN 0 ELSE 1
            END AS changes
        FROM pieces
    ) AS compared
) AS runs
GROUP BY
    slice,
    a,
    b,
    side,
    run
