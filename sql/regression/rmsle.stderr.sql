/*
summary: >-
  standard error of the root of the mean squared logarithmic error, by the delta method,
  linearised for weights
*/
SELECT
    slice,
    -- Delta method: the standard error of the mean square, divided by twice the root, is computed
    -- as in mse.stderr.sql, over the rows with a positive weight.
    CASE
        WHEN SUM(weight * squared_log_error) = 0
            AND SUM(CASE WHEN weight > 0 THEN n_rows ELSE 0 END) > 1
        THEN 0e0
        ELSE SQRT(
                GREATEST(
                    SUM(squares * squared_log_error_variance)
                        + COUNT(CASE WHEN weight > 0 THEN 1 END) * (
                            COVAR_POP(
                                squares * squared_log_error_centre,
                                CASE WHEN weight > 0 THEN squared_log_error_centre END
                            )
                            - AVG(CASE WHEN weight > 0 THEN squared_log_error_centre END)
                                * COVAR_POP(squares, CASE WHEN weight > 0 THEN squared_log_error_centre END)
                        )
                        - (
                            COUNT(CASE WHEN weight > 0 THEN 1 END)
                                * COVAR_POP(weight, CASE WHEN weight > 0 THEN squared_log_error END)
                                / NULLIF(SUM(weight), 0)
                            + (
                                AVG(CASE WHEN weight > 0 THEN squared_log_error END)
                                - AVG(CASE WHEN weight > 0 THEN squared_log_error_centre END)
                            )
                        ) * (
                            2e0 * COUNT(CASE WHEN weight > 0 THEN 1 END)
                                * COVAR_POP(squares, CASE WHEN weight > 0 THEN squared_log_error_centre END)
                            - (
                                COUNT(CASE WHEN weight > 0 THEN 1 END)
                                    * COVAR_POP(weight, CASE WHEN weight > 0 THEN squared_log_error END)
                                    / NULLIF(SUM(weight), 0)
                                + (
                                    AVG(CASE WHEN weight > 0 THEN squared_log_error END)
                                    - AVG(CASE WHEN weight > 0 THEN squared_log_error_centre END)
                                )
                            ) * SUM(squares)
                        ),
                    0e0
                )
                    / NULLIF(
                        GREATEST(SUM(CASE WHEN weight > 0 THEN n_rows ELSE 0 END) - 1e0, 0e0), 0
                    )
                    / NULLIF(4e0 * SUM(weight * squared_log_error), 0)
                    * (
                        CAST(SUM(CASE WHEN weight > 0 THEN n_rows ELSE 0 END) AS DOUBLE)
                        / NULLIF(SUM(weight), 0)
                    )
            )
    END AS stderr,
    -- Kish's effective number of rows: a few rows with large losses outweigh the others. The
    -- warning limit is 5. The number is divided by 4, so 20 such rows reach it.
    POWER(SUM(weight * squared_log_error), 2)
        / NULLIF(
            4e0 * SUM(squares * (squared_log_error_centre * squared_log_error_centre + squared_log_error_variance)), 0
        ) AS support,
    -- The kurtosis of the errors: the mean of their fourth powers, divided by the squared mean
    -- square.
    CAST(SUM(squares * (squared_log_error_centre * squared_log_error_centre + squared_log_error_variance)) AS DOUBLE)
        / NULLIF(SUM(squares), 0)
        / NULLIF(POWER(CAST(SUM(weight * squared_log_error) AS DOUBLE) / NULLIF(SUM(weight), 0), 2), 0)
        AS kurtosis
FROM log_errors
GROUP BY slice
