/*
summary: >-
  number of rows of the reference and of the current sample, and the sum over rows of the width of
  their score bin
*/
SELECT
    slice,
    SUM(of_reference) AS reference_total,
    SUM(of_current) AS current_total,
    SUM(CAST(of_reference AS DOUBLE) * (highest - lowest)) AS reference_width,
    SUM(CAST(of_current AS DOUBLE) * (highest - lowest)) AS current_width,
    MAX(ABS(lowest)) AS largest
FROM drift_scores
GROUP BY slice
