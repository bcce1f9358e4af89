/*
summary: >-
  largest z statistic of the strata: the difference between a stratum's share of the test rows and
  its share of the training rows, in standard errors under the assumption that both come from one
  population
*/
SELECT
    repeat,
    fold,
    MAX(
        ABS(
            CAST(test_rows AS DOUBLE) / NULLIF(all_test, 0)
            - CAST(training_rows AS DOUBLE) / NULLIF(all_training, 0)
        )
        / NULLIF(
            SQRT(
                CAST(test_rows + training_rows AS DOUBLE) / NULLIF(all_test + all_training, 0)
                * (
                    1e0
                    - CAST(test_rows + training_rows AS DOUBLE) / NULLIF(all_test + all_training, 0)
                )
                * (1e0 / NULLIF(all_test, 0) + 1e0 / NULLIF(all_training, 0))
            ),
            0
        )
    ) AS found,
    COUNT(*) AS strata_seen
FROM (
    SELECT
        repeat,
        fold,
        test_rows,
        training_rows,
        SUM(test_rows) OVER (PARTITION BY repeat, fold) AS all_test,
        SUM(training_rows) OVER (PARTITION BY repeat, fold) AS all_training
    FROM (
        SELECT
            repeat,
            fold,
            stratum,
            SUM(CASE WHEN role = 'test' THEN 1 ELSE 0 END) AS test_rows,
            SUM(CASE WHEN role = 'train' THEN 1 ELSE 0 END) AS training_rows
        FROM assigned
        GROUP BY repeat, fold, stratum
    ) AS counted
) AS totals
-- With fewer expected test rows the normal approximation is too coarse.
WHERE CAST(test_rows + training_rows AS DOUBLE) * all_test / NULLIF(all_test + all_training, 0) >= 5e0
GROUP BY repeat, fold
