/*
summary: the cells of `score_units` with positives and negatives whose scores may differ
across: slices
*/
-- From 2^53 on, a product of a score and a power of two is a whole number, so that a cell has one
-- score only. A cell is twice that number.
SELECT
    slice_start,
    tie AS cell
FROM unit_ties
CROSS JOIN unit_scale
WHERE first_label = 0
    AND labels > 0
    AND tie IS NOT NULL
    AND (
        ABS(tie - slice_start - 2 * zero) < 18014398509481984
        OR ABS(tie - slice_start - 2 * zero) >= 2 * scale
    )
