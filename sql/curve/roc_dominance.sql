/*
summary: >-
  ranges of the false positive rate in which the ROC curve of one model lies above another model's;
  above is NULL where they coincide; roc_enclosure summarises the ranges
formula: sign of tpr_a(fpr) - tpr_b(fpr), points joined by straight lines
order: model, other_model, from_fpr
across: model
reference: numpy.interp # of the two curves; its crossings are roots of the difference
task: two classes
types: {model: text, other_model: text, above: text}
weights: frequency
since: 0.1.0
*/
-- Windows run within 4,096 strips of the fpr, so that no task of a distributed engine reads a whole
-- curve. They start from the nearest points before and after a strip.
WITH rises AS (
    -- At one fpr a curve may rise vertically, from low to high.
    SELECT
        slice,
        curve,
        strip,
        x,
        MIN(arrives) AS low,
        MAX(leaves) AS high
    FROM (
        SELECT
            slice,
            curve,
            x,
            CAST(FLOOR(4.096e3 * x) AS INTEGER) AS strip,
            arrives,
            leaves
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
    ) AS placed
    GROUP BY
        slice,
        curve,
        strip,
        x
),
curves AS (
    SELECT
        slice,
        model AS curve
    FROM totals
    WHERE total_positives > 0 AND total_negatives > 0
),
pairs AS (
    -- The names are expressions, because DataFusion 55 takes a key of one relation for a key of the
    -- whole join, and then drops other columns of a GROUP BY.
    SELECT
        slice,
        a,
        b
    FROM (
        SELECT
            one.slice,
            CASE WHEN one.curve < two.curve THEN one.curve END AS a,
            CASE WHEN one.curve < two.curve THEN two.curve END AS b
        FROM curves AS one
        JOIN curves AS two USING (slice)
    ) AS compared
    WHERE a IS NOT NULL
),
strip_ends AS (
    -- Curves never fall, so the last point before a strip is the largest of those before it, and
    -- the first point after it the smallest.
    SELECT
        slice,
        a,
        b,
        strip,
        LAG(a_x_through) OVER (PARTITION BY slice, a, b ORDER BY strip) AS a_x_before,
        LAG(a_through) OVER (PARTITION BY slice, a, b ORDER BY strip) AS a_before,
        LAG(a_x_from) OVER (PARTITION BY slice, a, b ORDER BY strip DESC) AS a_x_after,
        LAG(a_from) OVER (PARTITION BY slice, a, b ORDER BY strip DESC) AS a_after,
        LAG(b_x_through) OVER (PARTITION BY slice, a, b ORDER BY strip) AS b_x_before,
        LAG(b_through) OVER (PARTITION BY slice, a, b ORDER BY strip) AS b_before,
        LAG(b_x_from) OVER (PARTITION BY slice, a, b ORDER BY strip DESC) AS b_x_after,
        LAG(b_from) OVER (PARTITION BY slice, a, b ORDER BY strip DESC) AS b_after
    FROM (
        SELECT
            slice,
            a,
            b,
            strip,
            MAX(a_last_x) OVER (
                PARTITION BY slice, a, b ORDER BY strip
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_x_through,
            MAX(a_last) OVER (
                PARTITION BY slice, a, b ORDER BY strip
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_through,
            MIN(a_first_x) OVER (
                PARTITION BY slice, a, b ORDER BY strip DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_x_from,
            MIN(a_first) OVER (
                PARTITION BY slice, a, b ORDER BY strip DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_from,
            MAX(b_last_x) OVER (
                PARTITION BY slice, a, b ORDER BY strip
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_x_through,
            MAX(b_last) OVER (
                PARTITION BY slice, a, b ORDER BY strip
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_through,
            MIN(b_first_x) OVER (
                PARTITION BY slice, a, b ORDER BY strip DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_x_from,
            MIN(b_first) OVER (
                PARTITION BY slice, a, b ORDER BY strip DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_from
        FROM (
            SELECT
                pairs.slice,
                pairs.a,
                pairs.b,
                ends.strip,
                MIN(CASE WHEN ends.curve = pairs.a THEN ends.first_x END) AS a_first_x,
                MIN(CASE WHEN ends.curve = pairs.a THEN ends.first_low END) AS a_first,
                MAX(CASE WHEN ends.curve = pairs.a THEN ends.last_x END) AS a_last_x,
                MAX(CASE WHEN ends.curve = pairs.a THEN ends.last_high END) AS a_last,
                MIN(CASE WHEN ends.curve = pairs.b THEN ends.first_x END) AS b_first_x,
                MIN(CASE WHEN ends.curve = pairs.b THEN ends.first_low END) AS b_first,
                MAX(CASE WHEN ends.curve = pairs.b THEN ends.last_x END) AS b_last_x,
                MAX(CASE WHEN ends.curve = pairs.b THEN ends.last_high END) AS b_last
            FROM pairs
            JOIN (
                SELECT
                    slice,
                    curve,
                    strip,
                    MIN(x) AS first_x,
                    MIN(low) AS first_low,
                    MAX(x) AS last_x,
                    MAX(high) AS last_high
                FROM rises
                GROUP BY
                    slice,
                    curve,
                    strip
            ) AS ends USING (slice)
            WHERE ends.curve = pairs.a OR ends.curve = pairs.b
            GROUP BY
                pairs.slice,
                pairs.a,
                pairs.b,
                ends.strip
        ) AS stacked
    ) AS running
),
places AS (
    -- Every fpr at which either curve has a point.
    SELECT
        slice,
        a,
        b,
        strip,
        x,
        MAX(CASE WHEN curve = a THEN x END) AS a_x,
        MAX(CASE WHEN curve = a THEN low END) AS a_low,
        MAX(CASE WHEN curve = a THEN high END) AS a_high,
        MAX(CASE WHEN curve = b THEN x END) AS b_x,
        MAX(CASE WHEN curve = b THEN low END) AS b_low,
        MAX(CASE WHEN curve = b THEN high END) AS b_high
    FROM (
        SELECT
            pairs.slice,
            pairs.a,
            pairs.b,
            rises.curve,
            rises.strip,
            rises.x,
            rises.low,
            rises.high
        FROM pairs
        JOIN rises USING (slice)
        WHERE rises.curve = pairs.a OR rises.curve = pairs.b
    ) AS stacked
    GROUP BY
        slice,
        a,
        b,
        strip,
        x
),
neighbours AS (
    -- The last point of each curve up to here, and the first one after it. Each direction has its
    -- own order, because some engines need quadratic time for a window that ends with its
    -- partition.
    SELECT
        slice,
        a,
        b,
        strip,
        x,
        a_x_reached,
        a_reached,
        LAG(a_x_from) OVER (PARTITION BY slice, a, b, strip ORDER BY x DESC)
            AS a_x_coming,
        LAG(a_from) OVER (PARTITION BY slice, a, b, strip ORDER BY x DESC)
            AS a_coming,
        b_x_reached,
        b_reached,
        LAG(b_x_from) OVER (PARTITION BY slice, a, b, strip ORDER BY x DESC)
            AS b_x_coming,
        LAG(b_from) OVER (PARTITION BY slice, a, b, strip ORDER BY x DESC)
            AS b_coming
    FROM (
        SELECT
            slice,
            a,
            b,
            strip,
            x,
            MAX(a_x) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_x_reached,
            MAX(a_high) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_reached,
            MIN(a_x) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_x_from,
            MIN(a_low) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS a_from,
            MAX(b_x) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_x_reached,
            MAX(b_high) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_reached,
            MIN(b_x) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_x_from,
            MIN(b_low) OVER (
                PARTITION BY slice, a, b, strip ORDER BY x DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS b_from
        FROM places
    ) AS running
),
lines AS (
    -- Between two neighbouring places both curves are straight.
    SELECT
        slice,
        a,
        b,
        strip,
        x,
        CASE WHEN a_x_next < b_x_next THEN a_x_next ELSE b_x_next END AS next_x,
        a_x_here,
        a_here,
        CAST(a_next - a_here AS DOUBLE) / NULLIF(a_x_next - a_x_here, 0) AS a_slope,
        b_x_here,
        b_here,
        CAST(b_next - b_here AS DOUBLE) / NULLIF(b_x_next - b_x_here, 0) AS b_slope
    FROM (
        SELECT
            neighbours.slice,
            neighbours.a,
            neighbours.b,
            neighbours.strip,
            neighbours.x,
            COALESCE(neighbours.a_x_reached, strip_ends.a_x_before) AS a_x_here,
            COALESCE(neighbours.a_reached, strip_ends.a_before) AS a_here,
            COALESCE(neighbours.a_x_coming, strip_ends.a_x_after) AS a_x_next,
            COALESCE(neighbours.a_coming, strip_ends.a_after) AS a_next,
            COALESCE(neighbours.b_x_reached, strip_ends.b_x_before) AS b_x_here,
            COALESCE(neighbours.b_reached, strip_ends.b_before) AS b_here,
            COALESCE(neighbours.b_x_coming, strip_ends.b_x_after) AS b_x_next,
            COALESCE(neighbours.b_coming, strip_ends.b_after) AS b_next
        FROM neighbours
        JOIN strip_ends USING (slice, a, b, strip)
    ) AS joined
    WHERE a_x_next IS NOT NULL AND b_x_next IS NOT NULL
),
stretches AS (
    -- Rates that differ only by rounding, also of sums of real-valued weights, count as the same
    -- place or the same height.
    SELECT
        slice,
        a,
        b,
        strip,
        x,
        next_x,
        CASE WHEN ABS(left_difference) > 1e-12 THEN left_difference ELSE 0e0 END AS left_gap,
        CASE WHEN ABS(right_difference) > 1e-12 THEN right_difference ELSE 0e0 END AS right_gap
    FROM (
        SELECT
            slice,
            a,
            b,
            strip,
            x,
            next_x,
            (a_here + a_slope * (x - a_x_here)) - (b_here + b_slope * (x - b_x_here))
                AS left_difference,
            (a_here + a_slope * (next_x - a_x_here)) - (b_here + b_slope * (next_x - b_x_here))
                AS right_difference
        FROM lines
        WHERE next_x - x > 1e-12
    ) AS differences
),
pieces AS (
    -- Where the curves cross, a stretch has two pieces. CROSS JOIN instead of UNION ALL, because
    -- some engines compute a step again for each reader.
    SELECT
        slice,
        a,
        b,
        strip,
        CASE WHEN half = 1 THEN x ELSE crossing END AS piece_start,
        CASE WHEN half = 1 THEN COALESCE(crossing, next_x) ELSE next_x END AS piece_end,
        CASE
            WHEN half = 2 THEN CASE WHEN right_gap > 0 THEN 1 ELSE -1 END
            WHEN left_gap > 0 OR (left_gap = 0 AND right_gap > 0) THEN 1
            WHEN left_gap < 0 OR right_gap < 0 THEN -1
            ELSE 0
        END AS side
    FROM (
        SELECT
            slice,
            a,
            b,
            strip,
            x,
            next_x,
            left_gap,
            right_gap,
            CASE WHEN left_gap * right_gap < 0
                THEN x + CAST((next_x - x) * left_gap AS DOUBLE) / NULLIF(left_gap - right_gap, 0)
            END AS crossing
        FROM stretches
    ) AS crossed
    CROSS JOIN (VALUES (1), (2)) AS halves(half)
    WHERE half = 1 OR crossing IS NOT NULL
),
runs AS (
    -- Join neighbouring pieces with the same curve above, within a strip.
    SELECT
        slice,
        a,
        b,
        strip,
        side,
        run,
        MIN(piece_start) AS run_start,
        MAX(piece_end) AS run_end
    FROM (
        SELECT
            slice,
            a,
            b,
            strip,
            piece_start,
            piece_end,
            side,
            SUM(changes) OVER (
                PARTITION BY slice, a, b, strip ORDER BY piece_start
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS run
        FROM (
            SELECT
                slice,
                a,
                b,
                strip,
                piece_start,
                piece_end,
                side,
                CASE
                    WHEN side = LAG(side) OVER (
                        PARTITION BY slice, a, b, strip ORDER BY piece_start
                    ) THEN 0
                    ELSE 1
                END AS changes
            FROM pieces
        ) AS compared
    ) AS numbered
    GROUP BY
        slice,
        a,
        b,
        strip,
        side,
        run
),
parts AS (
    -- Only the first and the last run of a strip may continue in another strip.
    SELECT
        slice,
        a,
        b,
        strip,
        side,
        run_start,
        run_end,
        CASE WHEN run = 1 OR run = last_run THEN -1 ELSE strip END AS part
    FROM (
        SELECT
            slice,
            a,
            b,
            strip,
            side,
            run,
            run_start,
            run_end,
            MAX(run) OVER (PARTITION BY slice, a, b, strip) AS last_run
        FROM runs
    ) AS counted
)
SELECT
    slice,
    a AS model,
    b AS other_model,
    MIN(run_start) AS from_fpr,
    MAX(run_end) AS to_fpr,
    CASE WHEN side > 0 THEN a WHEN side < 0 THEN b END AS above
FROM (
    SELECT
        slice,
        a,
        b,
        part,
        side,
        run_start,
        run_end,
        SUM(changes) OVER (
            PARTITION BY slice, a, b, part ORDER BY run_start
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS joined_run
    FROM (
        SELECT
            slice,
            a,
            b,
            part,
            side,
            run_start,
            run_end,
            CASE
                WHEN side = LAG(side) OVER (PARTITION BY slice, a, b, part ORDER BY run_start)
                    AND strip <> LAG(strip) OVER (PARTITION BY slice, a, b, part ORDER BY run_start)
                THEN 0
                ELSE 1
            END AS changes
        FROM parts
    ) AS compared
) AS numbered
GROUP BY
    slice,
    a,
    b,
    part,
    side,
    joined_run
