/*
summary: >-
  how many rows of the other class each row scores above, ties counting one half, by the score of a
  model and by the score of the baseline
reference: DeLong, DeLong and Clarke-Pearson (1988)
*/
-- One sort by each score; the second carries only the result of the first. RANK is one more than
-- the number of lower rows. A count or sum with the default frame is of the rows up to the same
-- score, and with a frame from CURRENT ROW to CURRENT ROW of the rows with the same score.
SELECT
    slice,
    label,
    beaten,
    5e-1 * CASE
        WHEN label = 1
        THEN rank_among_all - 1 + count_among_all - 2 * positives_up_to + positives_tied
        ELSE 2 * positives_up_to - positives_tied
    END AS baseline_beaten
FROM (
    SELECT
        slice,
        label,
        beaten,
        RANK() OVER (PARTITION BY slice ORDER BY baseline_score) AS rank_among_all,
        COUNT(*) OVER (PARTITION BY slice ORDER BY baseline_score) AS count_among_all,
        SUM(label) OVER (PARTITION BY slice ORDER BY baseline_score) AS positives_up_to,
        SUM(label) OVER (
            PARTITION BY slice ORDER BY baseline_score RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ) AS positives_tied
    FROM (
        SELECT
            slice,
            label,
            baseline_score,
            5e-1 * CASE
                WHEN label = 1
                THEN rank_among_all - 1 + count_among_all - 2 * positives_up_to + positives_tied
                ELSE 2 * positives_up_to - positives_tied
            END AS beaten
        FROM (
            SELECT
                slice,
                label,
                baseline_score,
                RANK() OVER (PARTITION BY slice ORDER BY score) AS rank_among_all,
                COUNT(*) OVER (PARTITION BY slice ORDER BY score) AS count_among_all,
                SUM(label) OVER (PARTITION BY slice ORDER BY score) AS positives_up_to,
                SUM(label) OVER (
                    PARTITION BY slice ORDER BY score RANGE BETWEEN CURRENT ROW AND CURRENT ROW
                ) AS positives_tied
            FROM pairs
        ) AS ranked_by_score
    ) AS placed
) AS ranked_by_baseline
