/*
summary: >-
  the positives by ascending score, with their ranks among all rows and among the positives; and the
  last row of each slice, whatever its label
*/
SELECT
    slice,
    label,
    score,
    rank_among_all,
    place,
    RANK() OVER (PARTITION BY slice ORDER BY rank_among_all) AS own_rank,
    ROW_NUMBER() OVER (PARTITION BY slice ORDER BY rank_among_all, place) AS own_place,
    COALESCE(
        LAG(place) OVER (PARTITION BY slice ORDER BY rank_among_all, place), 0
    ) AS place_before
FROM (
    -- The negatives of a tie have lower places than its positives.
    SELECT
        slice,
        label,
        score,
        RANK() OVER (PARTITION BY slice ORDER BY score) AS rank_among_all,
        ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score, label) AS place,
        LEAD(label) OVER (PARTITION BY slice ORDER BY score, label) AS next_label
    FROM predictions
) AS placed
-- Without the last row, a slice without positives would have no row, and the number of rows would
-- be unknown.
WHERE label = 1 OR next_label IS NULL
