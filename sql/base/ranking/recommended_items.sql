/*
summary: items of each ranked list, with the probability that they are among its first k places
params:
  k: int in [1, inf) = 10
*/
SELECT
    slice,
    item,
    label,
    place_of_row,
    highest_label,
    copies,
    LEAST(n_retrieved, $k) AS n_recommended,
    -- Every order of tied items is equally probable.
    CASE
        WHEN is_retrieved = 1
        THEN CAST(LEAST(GREATEST($k - first_place + 1, 0), tied) AS DOUBLE) / NULLIF(tied, 0)
        ELSE 0e0
    END AS share
FROM (
    SELECT
        slice,
        item,
        label,
        is_retrieved,
        RANK() OVER (PARTITION BY slice ORDER BY is_retrieved DESC, score DESC) AS first_place,
        COUNT(*) OVER (
            PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ) AS tied,
        ROW_NUMBER() OVER (
            PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
        ) AS place_of_row,
        SUM(is_retrieved) OVER (PARTITION BY slice) AS n_retrieved,
        MAX(label) OVER (PARTITION BY slice) AS highest_label,
        COUNT(*) OVER (PARTITION BY slice, item) AS copies
    FROM (
        SELECT
            slice,
            item,
            score,
            label,
            CASE WHEN score IS NULL THEN 0 ELSE 1 END AS is_retrieved
        FROM predictions
    ) AS items
) AS placed
