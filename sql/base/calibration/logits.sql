/*
summary: positives and negatives at each distinct score, with the logit of the score
*/
SELECT
    slice,
    -- A score of 0 or 1 has no logit.
    CASE
        WHEN score_low > 0 AND score_low < 1
        THEN LN(CAST(score_low AS DOUBLE) / NULLIF(1e0 - CAST(score_low AS DOUBLE), 0))
    END AS logit,
    CAST(score_low AS DOUBLE) AS p,
    positives,
    negatives,
    positive_squares,
    negative_squares
FROM score_counts
