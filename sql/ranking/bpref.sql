/*
summary: >-
  share of judged irrelevant items that are not above the relevant ones; items that were not judged do
  not count
formula: >-
  1 / R * sum over the relevant retrieved items of 1 - min(irrelevant items above, M) / M,
  M = min(R, N), R and N = numbers of relevant and of judged irrelevant items
direction: higher
range: 0 .. 1
reference: trec_eval (bpref), after Buckley and Voorhees (2004)
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CAST(
        SUM(
            CASE
                WHEN place IS NULL OR relevant = 0 THEN 0e0
                WHEN total_irrelevant = 0 THEN 1e0
                WHEN irrelevant_above >= LEAST(total_relevant, total_irrelevant) THEN 0e0
                -- Of the s irrelevant items in a tie, 0 to s are above a relevant one, each number
                -- with the probability 1 / (s + 1). With d = M - irrelevant items above the tie and
                -- c = min(d, s + 1), the mean of max(d - number, 0) is
                -- c (2 d - c + 1) / (2 (s + 1)).
                ELSE LEAST(
                    LEAST(total_relevant, total_irrelevant) - irrelevant_above,
                    tied_irrelevant + 1e0
                )
                    * (
                        2e0 * (LEAST(total_relevant, total_irrelevant) - irrelevant_above) + 1e0
                        - LEAST(
                            LEAST(total_relevant, total_irrelevant) - irrelevant_above,
                            tied_irrelevant + 1e0
                        )
                    )
                    / NULLIF(2e0 * (tied_irrelevant + 1e0), 0)
                    / NULLIF(CAST(LEAST(total_relevant, total_irrelevant) AS DOUBLE), 0)
            END
        ) AS DOUBLE
    ) / NULLIF(SUM(relevant), 0) AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
