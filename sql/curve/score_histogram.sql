/*
summary: >-
  number of negatives and of positives by score, in bins of equal width: between 0 and 1 if all
  scores lie there, otherwise between the lowest and the highest score; infinite scores have bins of
  their own
formula: n = sum(w [lower <= score < upper]) for each class; the last bin includes its upper end
params:
  bins: series = 20
order: bin
chart:
  title: Distribution of scores
  draw: score_histogram
  columns: [lower, upper, n_negative, n_positive]
reference: numpy.histogram
task: two classes
types: {bin: integer, n_negative: count, n_positive: count}
weights: frequency
since: 0.2.0
*/
WITH ranges AS (
    SELECT
        slice,
        CASE
            WHEN lowest >= 0 AND highest <= 1 THEN 0e0
            -- As numpy.histogram: scores that are all equal are the middle of a range of 1.
            WHEN lowest = highest THEN lowest - 5e-1
            ELSE COALESCE(lowest, 0e0)
        END AS low,
        CASE
            WHEN lowest >= 0 AND highest <= 1 THEN 1e0
            WHEN lowest = highest THEN highest + 5e-1
            ELSE COALESCE(highest, 1e0)
        END AS high
    FROM (
        SELECT
            slice,
            MIN(CASE WHEN ABS(score_low) <= 1.7976931348623157e308 THEN score_low END) AS lowest,
            MAX(CASE WHEN ABS(score_high) <= 1.7976931348623157e308 THEN score_high END) AS highest
        FROM class_weights
        GROUP BY slice
        HAVING COUNT(*) > 0
    ) AS extremes
),

placed AS (
    SELECT
        slice,
        score,
        low,
        high,
        positives,
        negatives,
        CASE
            WHEN ABS(score) > 1.7976931348623157e308 THEN NULL
            ELSE LEAST(GREATEST(FLOOR(
                CAST(score - low AS DOUBLE) / NULLIF(high - low, 0) * $bins
            ), 0e0), $bins - 1e0)
        END AS place
    FROM (
        SELECT
            class_weights.slice,
            class_weights.score_low AS score,
            class_weights.positives,
            class_weights.negatives,
            ranges.low,
            ranges.high
        FROM class_weights
        JOIN ranges USING (slice)
    ) AS ranged
),

numbered AS (
    SELECT
        slice,
        low,
        high,
        positives,
        negatives,
        -- Scores at an edge belong to the bin above it, whatever the rounding of the division.
        CASE
            WHEN place IS NULL THEN CASE WHEN score < 0 THEN 0e0 ELSE $bins + 1e0 END
            WHEN place > 0 AND score < low + place * (CAST(high - low AS DOUBLE) / NULLIF($bins, 0))
            THEN place
            WHEN
                place + 1 < $bins
                AND score >= low + (place + 1) * (CAST(high - low AS DOUBLE) / NULLIF($bins, 0))
            THEN place + 2
            ELSE place + 1
        END AS number
    FROM placed
    UNION ALL
    -- Bins without rows.
    SELECT
        ranges.slice,
        ranges.low,
        ranges.high,
        0 AS positives,
        0 AS negatives,
        CAST(bins.i AS DOUBLE) AS number
    FROM ranges
    CROSS JOIN bins
)

SELECT
    slice,
    CAST(number AS BIGINT) AS bin,
    CASE
        WHEN number = 0 THEN CAST('-Infinity' AS DOUBLE)
        WHEN number > $bins THEN high
        ELSE low + (number - 1) * (CAST(high - low AS DOUBLE) / NULLIF($bins, 0))
    END AS lower,
    CASE
        WHEN number > $bins THEN CAST('Infinity' AS DOUBLE)
        WHEN number = $bins THEN high
        ELSE low + number * (CAST(high - low AS DOUBLE) / NULLIF($bins, 0))
    END AS upper,
    SUM(negatives) AS n_negative,
    SUM(positives) AS n_positive
FROM numbered
GROUP BY
    slice,
    number,
    low,
    high
