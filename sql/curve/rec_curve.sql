/*
summary: >-
  share of the rows whose absolute error is at most x (regression error characteristic), at about
  equal steps of the share
formula: share(x) = sum(w [|p - y| <= x]) / sum(w)
params:
  bins: int in [1, inf) = 100
order: error
direction: higher
chart:
  title: Regression error characteristic
  draw: error_shares
  columns: [error, share]
  metric: [MAE, mae]
reference: Bi and Bennett (2003), Regression error characteristic curves, ICML
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    amount AS error,
    CAST(reached AS DOUBLE) / NULLIF(total, 0) AS share
FROM absolute_error_ranks
-- At most one point in each step of the share, and the rows without an error. A little more,
-- because shares are rounded.
WHERE
    amount = 0
    OR FLOOR(CAST(reached AS DOUBLE) * $bins / NULLIF(total, 0) + 1e-9)
    > FLOOR(CAST(reached - mass AS DOUBLE) * $bins / NULLIF(total, 0) + 1e-9)
