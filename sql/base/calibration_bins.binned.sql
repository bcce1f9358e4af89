/*
summary: the same from bins of scores, which know where the equal widths end but not the equal masses
params:
  strategy: str in {uniform, quantile} = uniform
unbinned: strategy=quantile
*/
SELECT
    slice,
    number,
    n,
    positives,
    score_sum
FROM uniform_bins
WHERE $strategy = 'uniform'
