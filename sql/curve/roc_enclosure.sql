/*
summary: >-
  whether the ROC curve of one model encloses another model's, one row for each ordered pair:
  encloses (nowhere below, somewhere above), is enclosed by, coincides with, or crosses
formula: signs of tpr(fpr) - tpr_other(fpr); crossings counts their changes, from first_crossing to last_crossing (fpr)
order: model, other_model
across: model
reference: numpy.interp # of the two curves; the signs of the difference
task: two classes
types: {model: text, other_model: text, relation: text, crossings: integer}
weights: frequency
since: 0.1.0
*/
WITH leads AS (
    SELECT
        slice,
        model,
        other_model,
        above,
        from_fpr,
        -- Ranges where neither is above form a separate partition, so that they do not count as
        -- changes.
        LAG(above) OVER (
            PARTITION BY slice, model, other_model, CASE WHEN above IS NULL THEN 1 ELSE 0 END
            ORDER BY from_fpr
        ) AS above_before
    FROM roc_dominance
),
counts AS (
    SELECT
        slice,
        model AS a,
        other_model AS b,
        SUM(CASE WHEN above = model THEN 1 ELSE 0 END) AS leads_of_a,
        SUM(CASE WHEN above = other_model THEN 1 ELSE 0 END) AS leads_of_b,
        SUM(CASE WHEN above <> above_before THEN 1 ELSE 0 END) AS changes,
        MIN(CASE WHEN above <> above_before THEN from_fpr END) AS first_change,
        MAX(CASE WHEN above <> above_before THEN from_fpr END) AS last_change
    FROM leads
    GROUP BY
        slice,
        model,
        other_model
),
both_ways AS (
    -- CROSS JOIN instead of UNION ALL, because some engines compute a step again for each reader.
    SELECT
        slice,
        CASE WHEN way = 1 THEN a ELSE b END AS model,
        CASE WHEN way = 1 THEN b ELSE a END AS other_model,
        CASE WHEN way = 1 THEN leads_of_a ELSE leads_of_b END AS leads,
        CASE WHEN way = 1 THEN leads_of_b ELSE leads_of_a END AS trails,
        changes,
        first_change,
        last_change
    FROM counts
    CROSS JOIN (VALUES (1), (2)) AS ways(way)
)
SELECT
    slice,
    model,
    CASE
        WHEN leads > 0 AND trails > 0 THEN 'crosses'
        WHEN leads > 0 THEN 'encloses'
        WHEN trails > 0 THEN 'is enclosed by'
        ELSE 'coincides with'
    END AS relation,
    other_model,
    CAST(changes AS BIGINT) AS crossings,
    first_change AS first_crossing,
    last_change AS last_crossing
FROM both_ways
