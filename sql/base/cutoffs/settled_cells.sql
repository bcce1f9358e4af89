/*
summary: >-
  for the cells of `open_cells`, twice the pairs in which the positive scores higher, less twice
  those in which it scores lower; a pair is a positive and a negative of one cell
across: slices
*/
SELECT
    slice_start,
    SUM(positives * (2 * reached - negatives - all_negatives)) AS won
FROM (
    SELECT
        slice_start,
        positives,
        negatives,
        SUM(negatives) OVER (
            PARTITION BY cell ORDER BY score ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS reached,
        SUM(negatives) OVER (PARTITION BY cell) AS all_negatives
    FROM (
        SELECT
            o.slice_start,
            o.cell,
            u.score,
            SUM(u.label) AS positives,
            SUM(1 - u.label) AS negatives
        FROM score_units AS u
        JOIN open_cells AS o USING (cell)
        GROUP BY
            o.slice_start,
            o.cell,
            u.score
    ) AS scores
) AS reached_scores
GROUP BY slice_start
