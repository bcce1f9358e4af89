/*
summary: >-
  how many rows of the other class each row scores above, ties counting one half, by the score of a
  model and by the score of the baseline: its mean rank among all rows minus its mean rank within
  its own class
reference: DeLong, DeLong and Clarke-Pearson (1988); Sun and Xu (2014) for the ranks
*/
SELECT
    slice,
    label,
    5e-1 * (rank_among_all + count_among_all - rank_in_class - count_in_class) AS beaten,
    5e-1 * (
        baseline_rank_among_all + baseline_count_among_all
        - baseline_rank_in_class - baseline_count_in_class
    ) AS baseline_beaten
FROM (
    -- RANK is one more than the number of lower rows, and COUNT with the default frame is the
    -- number of rows up to the same score. Half their sum is the mean rank of a tie.
    SELECT
        slice,
        label,
        RANK() OVER (PARTITION BY slice ORDER BY score) AS rank_among_all,
        COUNT(*) OVER (PARTITION BY slice ORDER BY score) AS count_among_all,
        RANK() OVER (PARTITION BY slice, label ORDER BY score) AS rank_in_class,
        COUNT(*) OVER (PARTITION BY slice, label ORDER BY score) AS count_in_class,
        RANK() OVER (PARTITION BY slice ORDER BY baseline_score) AS baseline_rank_among_all,
        COUNT(*) OVER (PARTITION BY slice ORDER BY baseline_score) AS baseline_count_among_all,
        RANK() OVER (PARTITION BY slice, label ORDER BY baseline_score) AS baseline_rank_in_class,
        COUNT(*) OVER (PARTITION BY slice, label ORDER BY baseline_score)
            AS baseline_count_in_class
    FROM pairs
) AS ranked
