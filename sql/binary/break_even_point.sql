/*
summary: >-
  precision where it equals recall: as many rows are predicted positive as are positive; a tie
  across this point counts in proportion; 0 if no row up to this point is positive
formula: tp / P where tp + fp = P
direction: higher
range: 0 .. 1
reference: Manning, Raghavan and Schuetze (2008), Introduction to Information Retrieval, section 8.4 (R-precision)
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- Interpolate between the last score before the break-even point and the first at or past it.
    (
        CAST(MAX(CASE WHEN tp + fp < total_positives THEN tp ELSE 0 END) AS DOUBLE)
        + (
            MAX(total_positives)
            - MAX(CASE WHEN tp + fp < total_positives THEN tp + fp ELSE 0 END)
        ) * (
            CAST(MIN(CASE WHEN tp + fp >= total_positives THEN tp END) AS DOUBLE)
            - MAX(CASE WHEN tp + fp < total_positives THEN tp ELSE 0 END)
        ) / NULLIF(
            MIN(CASE WHEN tp + fp >= total_positives THEN tp + fp END)
            - MAX(CASE WHEN tp + fp < total_positives THEN tp + fp ELSE 0 END),
            0
        )
    ) / NULLIF(MAX(total_positives), 0) AS value,
    CASE WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels' END AS note
FROM cutoffs
GROUP BY slice
