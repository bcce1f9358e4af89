/*
summary: score_counts beside the positives that each unit would have at the prevalence of all
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
