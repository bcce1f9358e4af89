/*
summary: >-
  prediction_counts, with the rows and the sum of labels up to each prediction, and in all
*/
SELECT
    counts.slice,
    counts.prediction,
    counts.strip,
    counts.mass,
    counts.label_sum,
    strips.mass_before + SUM(counts.mass) OVER (
        PARTITION BY counts.slice, counts.strip ORDER BY counts.prediction
    ) AS reached,
    strips.label_sum_before + SUM(counts.label_sum) OVER (
        PARTITION BY counts.slice, counts.strip ORDER BY counts.prediction
    ) AS label_sum_reached,
    strips.total,
    strips.total_predictions,
    strips.total_labels,
    strips.lowest_label
FROM prediction_counts AS counts
JOIN (
    SELECT
        slice,
        strip,
        SUM(strip_mass) OVER (PARTITION BY slice ORDER BY strip) - strip_mass AS mass_before,
        SUM(strip_label_sum) OVER (PARTITION BY slice ORDER BY strip) - strip_label_sum
            AS label_sum_before,
        SUM(strip_mass) OVER (PARTITION BY slice) AS total,
        SUM(strip_predictions) OVER (PARTITION BY slice) AS total_predictions,
        SUM(strip_label_sum) OVER (PARTITION BY slice) AS total_labels,
        MIN(strip_lowest_label) OVER (PARTITION BY slice) AS lowest_label
    FROM (
        SELECT
            slice,
            strip,
            SUM(mass) AS strip_mass,
            COUNT(*) AS strip_predictions,
            SUM(label_sum) AS strip_label_sum,
            MIN(lowest_label) AS strip_lowest_label
        FROM prediction_counts
        GROUP BY
            slice,
            strip
    ) AS strip_sums
) AS strips USING (slice, strip)
