/*
summary: >-
  amount that must be added to the logit of every probability so that the expected positives equal
  the observed ones (calibration in the large); above 0 the probabilities are too low
formula: logit P(y = 1) = a + logit(p), a by maximum likelihood
direction: none
range: "-inf .. inf"
domain: "score: 0 .. 1"
expectation: none
reference: statsmodels.api.GLM # family=Binomial, offset=logit(p)
task: two classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    fitted_shift AS value,
    CASE
        WHEN total_positives + total_negatives = 0 THEN 'total weight is 0'
        WHEN has_none = 1 THEN 'a probability is 0 or 1, which has no logit'
        WHEN total_positives = 0 THEN 'no positive labels'
        WHEN total_negatives = 0 THEN 'no negative labels'
        WHEN fitted_shift IS NULL THEN 'the fit does not converge'
    END AS note
FROM calibration_shift
