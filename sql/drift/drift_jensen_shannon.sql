/*
summary: >-
  Jensen-Shannon distance of the shares of the categories: 0 if they are equal, 1 if no category
  has rows of both
formula: sqrt((D(p || m) + D(q || m)) / 2), m = (p + q) / 2, D in bits
range: 0 .. 1
reference: scipy.spatial.distance.jensenshannon(base=2)
*/
SELECT
    slice,
    -- Rounding may leave a sum just below 0.
    SQRT(CASE WHEN divergence < 0 THEN 0e0 ELSE divergence END) AS drift,
    categories
FROM (
    SELECT
        slice,
        -- Multiply by 1 / (2 ln 2): half the sum, in bits.
        CAST(SUM(
            CASE WHEN p > 0 THEN p * LN(2e0 * p / NULLIF(p + q, 0)) ELSE 0e0 * q END
            + CASE WHEN q > 0 THEN q * LN(2e0 * q / NULLIF(p + q, 0)) ELSE 0e0 * p END
        ) AS DOUBLE) * 7.213475204444817e-1 AS divergence,
        COUNT(p) AS categories
    FROM (
        SELECT
            slice,
            reference_share AS p,
            current_share AS q
        FROM drift_shares
    ) AS shares
    GROUP BY slice
) AS divergences
