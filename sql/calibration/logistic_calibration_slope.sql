/*
summary: >-
  slope of the logistic regression of the label on the logit of the probability; below 1 the
  probabilities are too extreme, above 1 too moderate
formula: logit P(y = 1) = a + b logit(p), b by maximum likelihood
direction: none
range: "-inf .. inf"
domain: "score: 0 .. 1"
expectation: none
reference: statsmodels.api.GLM # family=Binomial
aliases: [cox_slope]
task: two classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    fitted_slope AS value,
    CASE
        WHEN total_positives + total_negatives = 0 THEN 'total weight is 0'
        WHEN has_none = 1 THEN 'a probability is 0 or 1, which has no logit'
        WHEN total_positives = 0 THEN 'no positive labels'
        WHEN total_negatives = 0 THEN 'no negative labels'
        WHEN
            lowest_positive = highest_negative AND highest_positive = lowest_negative
            AND lowest_positive = highest_positive
        THEN 'all probabilities are equal'
        WHEN highest_negative <= lowest_positive OR highest_positive <= lowest_negative
        THEN 'the probabilities separate the classes: the slope is infinite'
        WHEN fitted_slope IS NULL THEN 'the fit does not converge'
    END AS note
FROM calibration_fit
