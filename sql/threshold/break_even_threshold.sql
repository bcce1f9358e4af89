/*
summary: threshold at which precision equals recall
formula: largest t with as many rows at or above it as there are positives
direction: none
range: -inf .. inf
reference: Manning, Raghavan and Schuetze (2008), Introduction to Information Retrieval, section 8.4
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CASE WHEN MAX(total_positives) > 0
        -- Compare with slightly less than the total, because sums of real-valued weights over the
        -- same rows may differ by rounding.
        THEN MAX(CASE
            WHEN predicted_positives >= total_positives * (1e0 - 1e-12)
            THEN CAST(score_low AS DOUBLE)
        END)
    END AS value,
    CASE WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels' END AS note
FROM predicted_positives
GROUP BY slice
