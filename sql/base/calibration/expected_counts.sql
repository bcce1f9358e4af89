/*
summary: score_counts, with the positives expected in each unit at the overall prevalence
*/
SELECT
    score_counts.slice,
    score_counts.score_low,
    score_counts.positives,
    score_counts.negatives,
    CAST(score_counts.positives + score_counts.negatives AS DOUBLE) * totals.total_positives
        / NULLIF(CAST(totals.total_positives + totals.total_negatives AS DOUBLE), 0) AS expected
FROM score_counts
JOIN totals USING (slice)
