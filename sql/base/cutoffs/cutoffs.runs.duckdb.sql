/*
summary: >-
  cutoffs in which consecutive negatives, with no positive between them, form one unit (a run);
  takes one sort of all rows and one of the positives instead of two sorts of all rows
when: unweighted rows
*/
SELECT
    slice,
    -- A run has no score, because the best threshold is never inside a run but at the positive
    -- above it.
    CASE WHEN is_run = 0 THEN score END AS score_low,
    CASE WHEN is_run = 0 THEN score END AS score_high,
    1 - is_run AS positives,
    negatives,
    1 - is_run AS positive_squares,
    negatives AS negative_squares,
    total_positives - lower_positives AS tp,
    total_negatives - lower_negatives AS fp,
    total_negatives - lower_negatives AS fp_at_best,
    total_positives - lower_positives AS tp_squares,
    total_negatives - lower_negatives AS fp_squares,
    total_positives,
    total_negatives
FROM (
    SELECT
        slice,
        score,
        is_run,
        -- Negatives between the previous positive and this one, including ties with this one.
        is_run * (place - place_before - label) AS negatives,
        CASE WHEN is_run = 1 THEN own_place ELSE own_rank END - 1 AS lower_positives,
        CASE WHEN is_run = 1 THEN place_before - own_place + 1 ELSE rank_among_all - own_rank END
            AS lower_negatives
    -- The last row represents the run above all positives.
    FROM positive_ranks
    CROSS JOIN (VALUES (0), (1)) AS kinds(is_run)
    WHERE CASE WHEN is_run = 1 THEN place - place_before > label ELSE label = 1 END
) AS units
JOIN totals USING (slice)
