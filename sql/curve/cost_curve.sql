/*
summary: >-
  lower envelope of the cost lines: the smallest normalized cost at each probability cost, the
  threshold that attains it from there on, and the prior (deployment prevalence) that has this
  probability cost at the given costs
formula: x = p cost_fn / (p cost_fn + (1 - p) cost_fp), y = min over t of FNR(t) x + FPR(t) (1 - x)
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
order: probability_cost, threshold DESC
band: [probability_cost, normalized_cost, lines, triangle]
direction: lower
chart:
  title: Cost curve
  draw: cost_curve
  columns: [probability_cost, normalized_cost]
  metric: [AUC, roc_auc]
  facts: {prevalence: prevalence}
reference: Drummond and Holte (2006), doi:10.1007/s10994-006-8199-5
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    probability_cost,
    normalized_cost,
    CAST(probability_cost * $cost_fp AS DOUBLE)
        / NULLIF(probability_cost * $cost_fp + (1e0 - probability_cost) * $cost_fn, 0) AS prior,
    threshold
FROM cost_envelope
