/*
summary: >-
  for each slice, the positives, the negatives, and `won`, twice the pairs of both in which the
  positive scores higher, a tie counting one half
across: slices
*/
-- The negatives of a cell have the first places, so all its pairs count as won. `tied` makes ties
-- of them, and `settled_cells` corrects this for cells with several scores. Places begin with the
-- first slice, so the rows of the slices before are subtracted.
SELECT
    slice_start,
    all_won - 2 * positives * (last_place - n_rows) AS won,
    positives,
    n_rows - positives AS negatives
FROM (
    SELECT
        slice_start,
        all_won,
        positives,
        n_rows,
        SUM(n_rows) OVER (
            ORDER BY slice_start ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS last_place
    FROM (
        SELECT
            slice_start,
            SUM(part) AS all_won,
            SUM(labels) AS positives,
            SUM(n) AS n_rows
        FROM (
            SELECT
                slice_start,
                2 * all_places - all_labels * (all_labels + 1) - tied AS part,
                all_labels AS labels,
                all_rows AS n
            FROM (
                SELECT
                    slice_start,
                    SUM(places) AS all_places,
                    SUM(labels) AS all_labels,
                    SUM(CASE WHEN tie IS NOT NULL AND first_label = 0
                        THEN labels * (n - labels + 1) ELSE 0 END) AS tied,
                    SUM(n) AS all_rows
                FROM unit_ties
                GROUP BY slice_start
            ) AS placed
            UNION ALL
            SELECT
                slice_start,
                won AS part,
                0 AS labels,
                0 AS n
            FROM settled_cells
        ) AS parts
        GROUP BY slice_start
    ) AS sums
) AS counted
