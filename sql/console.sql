-- Helper macros for a DuckDB console: they read the input, audit it and shape the result. The
-- generated script starts with them; one macro per metric file follows. A macro's parameter
-- replaces every column of the same name that has no table alias, hence s., a., r.

-- Return the column, and raise an error for a text in single quotes, which would be the same in all
-- rows. ALIAS of a text is its literal, and of a column its name. The check stands where the column
-- is read: DuckDB may compute a filter of the same query after a cast.
CREATE OR REPLACE MACRO sqleval._column(role, argument) AS
    CASE
        WHEN STARTS_WITH(ALIAS(argument), '''')
            THEN ERROR(CONCAT(
                role, ' := ', ALIAS(argument), ' is one text in all rows, a column stands without ',
                'quotes or in double ones: ', role, ' := "', TRIM(ALIAS(argument), ''''), '"'
            ))
        ELSE argument
    END;

-- Scores of two classes. The label keeps its type, because the rows may be held in memory and a
-- label of one byte would take eight as DOUBLE. The branch that is never taken turns a boolean into
-- a number, and keeps the type of every other score.
CREATE OR REPLACE MACRO sqleval._scores(tbl, label, score, weight, slice) AS TABLE
SELECT
    slice AS slice_1,
    sqleval._column('label', label) AS label,
    CASE WHEN FALSE THEN CAST(NULL AS TINYINT) ELSE sqleval._column('score', score) END AS score,
    weight AS weight
FROM QUERY_TABLE(tbl);

-- A label as a number; NULL if it is a text, or NaN, which is a missing value.
CREATE OR REPLACE MACRO sqleval._number(label) AS
    CASE
        WHEN ISFINITE(TRY_CAST(label AS DOUBLE)) OR ISINF(TRY_CAST(label AS DOUBLE))
            THEN TRY_CAST(label AS DOUBLE)
    END;

-- ISFINITE OR ISINF instead of ISNAN: DuckDB removes ISNAN and comparisons with NaN because of the
-- statistics of a Parquet file, which do not count NaN.
CREATE OR REPLACE MACRO sqleval._scores_usable(label, score, weight) AS
    label IS NOT NULL
    AND (ISFINITE(CAST(score AS DOUBLE)) OR ISINF(CAST(score AS DOUBLE))) IS TRUE
    AND ISFINITE(CAST(weight AS DOUBLE)) IS TRUE;

-- A label that is neither a number nor a boolean is kept as text, for the error message.
CREATE OR REPLACE MACRO sqleval._scores_audit(source) AS TABLE
SELECT
    s.slice_1 AS slice_1,
    COUNT(*) AS n_rows,
    COUNT(CASE WHEN sqleval._scores_usable(s.number, s.score, s.weight) THEN 1 END) AS n_used,
    COUNT(CASE WHEN s.number IS NULL THEN 1 END) AS label_missing,
    'score' AS other,
    COUNT(CASE WHEN NOT sqleval._scores_usable(0, s.score, 1) THEN 1 END) AS other_missing,
    COUNT(CASE WHEN NOT sqleval._scores_usable(0, 0, s.weight) THEN 1 END) AS weight_missing,
    COUNT(CASE WHEN s.weight < 0 THEN 1 END) AS weight_negative,
    MAX(CAST(s.weight AS DOUBLE)) FILTER (ISFINITE(CAST(s.weight AS DOUBLE))) AS weight_largest,
    MIN(CASE WHEN TRY_CAST(s.label AS DOUBLE) IS NULL THEN CAST(s.label AS VARCHAR) END)
        AS label_text,
    CAST(NULL AS VARCHAR) AS prediction_text,
    MIN(s.number) AS label_low,
    MAX(s.number) AS label_high,
    COUNT(CASE WHEN s.number = 0 THEN 1 END) AS label_zeros,
    COUNT(CASE WHEN s.number NOT IN (-1, 0, 1) THEN 1 END) AS label_between,
    COUNT(CASE
        WHEN (s.score < 0 OR s.score > 1)
            AND sqleval._scores_usable(s.number, s.score, s.weight)
        THEN 1
    END) AS score_outside
FROM (SELECT q.*, sqleval._number(q.label) AS number FROM QUERY_TABLE(source) AS q) AS s
GROUP BY s.slice_1;

-- TINYINT: the window functions carry the label through their sort, which is faster with fewer
-- bytes.
CREATE OR REPLACE MACRO sqleval._scores_predictions(source) AS TABLE
SELECT
    s.slice_1 AS slice_1,
    CAST(CASE WHEN TRY_CAST(s.label AS DOUBLE) = 1 THEN 1 ELSE 0 END AS TINYINT) AS label,
    s.score AS score,
    s.weight AS weight,
    s.weight * s.weight AS squares,
    1 AS n_rows
FROM QUERY_TABLE(source) AS s
WHERE sqleval._scores_usable(sqleval._number(s.label), s.score, s.weight);

CREATE OR REPLACE MACRO sqleval._is_number(type_name) AS
    REGEXP_FULL_MATCH(
        type_name, 'BOOLEAN|FLOAT|DOUBLE|DECIMAL.*|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER'
    );

-- The shortest text of a number or boolean: 1 for 1, 1.0, 1.00 and true.
CREATE OR REPLACE MACRO sqleval._shorten_number(number) AS
    CASE
        WHEN number = 'true' THEN '1'
        WHEN number = 'false' THEN '0'
        WHEN CONTAINS(number, '.')
            THEN REGEXP_REPLACE(REGEXP_REPLACE(number, '\.0+$', ''), '(\.\d*[1-9])0+$', '\1')
        ELSE number
    END;

-- A class as text. The prediction arrives as text, whatever its type was; beside a label that is a
-- number or a boolean it is read as one.
CREATE OR REPLACE MACRO sqleval._class(class, label) AS
    CASE
        WHEN TYPEOF(label) = 'BOOLEAN'
            THEN COALESCE(
                CAST(TRY_CAST(sqleval._shorten_number(CAST(class AS VARCHAR)) AS BOOLEAN) AS VARCHAR),
                CAST(class AS VARCHAR)
            )
        WHEN sqleval._is_number(TYPEOF(label))
            AND ABS(TRY_CAST(CAST(class AS VARCHAR) AS DOUBLE)) < 9e15
            THEN sqleval._shorten_number(
                CAST(TRY_CAST(CAST(class AS VARCHAR) AS DOUBLE) AS VARCHAR)
            )
        WHEN sqleval._is_number(TYPEOF(label))
            THEN sqleval._shorten_number(CAST(class AS VARCHAR))
        ELSE CAST(class AS VARCHAR)
    END;

-- Predicted classes, of any type.
CREATE OR REPLACE MACRO sqleval._classes(tbl, label, prediction, weight, slice) AS TABLE
SELECT
    slice AS slice_1,
    sqleval._class(sqleval._column('label', label), label) AS label,
    sqleval._class(prediction, label) AS prediction,
    weight AS weight
FROM QUERY_TABLE(tbl);

CREATE OR REPLACE MACRO sqleval._finite(number) AS
    CASE WHEN ISFINITE(CAST(number AS DOUBLE)) THEN CAST(number AS DOUBLE) END;

-- Predicted values (regression). A value that is not finite counts as missing.
CREATE OR REPLACE MACRO sqleval._values(tbl, label, prediction, weight, slice) AS TABLE
SELECT
    slice AS slice_1,
    sqleval._finite(sqleval._column('label', label)) AS label,
    sqleval._finite(prediction) AS prediction,
    weight AS weight
FROM QUERY_TABLE(tbl);

CREATE OR REPLACE MACRO sqleval._predicted_usable(label, prediction, weight) AS
    label IS NOT NULL
    AND prediction IS NOT NULL
    AND ISFINITE(CAST(weight AS DOUBLE)) IS TRUE;

-- Whether a text is a number of this form. Values of a regression are never texts.
CREATE OR REPLACE MACRO sqleval._spells(class, form) AS
    TYPEOF(class) = 'VARCHAR' AND REGEXP_FULL_MATCH(CAST(class AS VARCHAR), form);

CREATE OR REPLACE MACRO sqleval._predicted_audit(source) AS TABLE
SELECT
    s.slice_1 AS slice_1,
    COUNT(*) AS n_rows,
    COUNT(CASE WHEN sqleval._predicted_usable(s.label, s.prediction, s.weight) THEN 1 END) AS n_used,
    COUNT(CASE WHEN s.label IS NULL THEN 1 END) AS label_missing,
    'prediction' AS other,
    COUNT(CASE WHEN s.prediction IS NULL THEN 1 END) AS other_missing,
    COUNT(CASE WHEN NOT sqleval._predicted_usable(0, 0, s.weight) THEN 1 END) AS weight_missing,
    COUNT(CASE WHEN s.weight < 0 THEN 1 END) AS weight_negative,
    MAX(CAST(s.weight AS DOUBLE)) FILTER (ISFINITE(CAST(s.weight AS DOUBLE))) AS weight_largest,
    CAST(NULL AS VARCHAR) AS label_text,
    -- The prediction arrives as text. 1.0 beside labels such as '1' was a number, or is another
    -- spelling.
    CASE
        WHEN COUNT(CASE WHEN sqleval._spells(s.label, '-?[0-9]+') THEN 1 END) > 0
            AND COUNT(CASE WHEN sqleval._spells(s.label, '-?[0-9]+[.]0') THEN 1 END) = 0
            THEN MIN(CASE
                WHEN sqleval._spells(s.prediction, '-?[0-9]+[.]0')
                THEN CAST(s.prediction AS VARCHAR)
            END)
    END AS prediction_text,
    CAST(NULL AS DOUBLE) AS label_low,
    CAST(NULL AS DOUBLE) AS label_high,
    0 AS label_zeros,
    0 AS label_between,
    0 AS score_outside
FROM QUERY_TABLE(source) AS s
GROUP BY s.slice_1;

CREATE OR REPLACE MACRO sqleval._predicted_predictions(source) AS TABLE
SELECT
    s.slice_1 AS slice_1,
    s.label AS label,
    s.prediction AS prediction,
    s.weight AS weight,
    s.weight * s.weight AS squares,
    1 AS n_rows
FROM QUERY_TABLE(source) AS s
WHERE sqleval._predicted_usable(s.label, s.prediction, s.weight);

-- Ranked rows, each with its query: NULL if it is NaN, which is a missing value.
CREATE OR REPLACE MACRO sqleval._ranked(tbl, label, score, qid, slice) AS TABLE
SELECT
    slice AS slice_1,
    CAST(sqleval._column('label', label) AS DOUBLE) AS label,
    CAST(sqleval._column('score', score) AS DOUBLE) AS score,
    CASE
        WHEN TYPEOF(qid) NOT IN ('FLOAT', 'DOUBLE')
            OR TRIM(CAST(qid AS VARCHAR), '-') <> 'nan'
            THEN sqleval._column('qid', qid)
    END AS query
FROM QUERY_TABLE(tbl);

-- A NULL label was not judged, and a NULL score was not retrieved; only NaN is a missing value.
CREATE OR REPLACE MACRO sqleval._ranked_usable(query, label, score) AS
    query IS NOT NULL
    AND (label IS NULL OR sqleval._scores_usable(0, label, 1))
    AND (score IS NULL OR sqleval._scores_usable(0, score, 1));

CREATE OR REPLACE MACRO sqleval._ranked_audit(source) AS TABLE
SELECT
    s.slice_1 AS slice_1,
    COUNT(*) AS n_rows,
    COUNT(CASE WHEN sqleval._ranked_usable(s.query, s.label, s.score) THEN 1 END) AS n_used,
    COUNT(CASE WHEN NOT sqleval._ranked_usable(0, s.label, 0) THEN 1 END) AS label_missing,
    'score or qid' AS other,
    COUNT(CASE WHEN NOT sqleval._ranked_usable(s.query, 0, s.score) THEN 1 END) AS other_missing,
    0 AS weight_missing,
    0 AS weight_negative,
    CAST(NULL AS DOUBLE) AS weight_largest,
    CAST(NULL AS VARCHAR) AS label_text,
    CAST(NULL AS VARCHAR) AS prediction_text,
    CAST(NULL AS DOUBLE) AS label_low,
    CAST(NULL AS DOUBLE) AS label_high,
    0 AS label_zeros,
    0 AS label_between,
    0 AS score_outside
FROM QUERY_TABLE(source) AS s
GROUP BY s.slice_1;

CREATE OR REPLACE MACRO sqleval._ranked_predictions(source) AS TABLE
SELECT
    s.slice_1 AS slice_1,
    s.query AS query,
    s.label AS label,
    s.score AS score,
    1 AS weight,
    1 AS squares,
    1 AS n_rows
FROM QUERY_TABLE(source) AS s
WHERE sqleval._ranked_usable(s.query, s.label, s.score);

-- The first problem of the input, as text in one row; NULL if there is none. needs: the reason why
-- scores must lie in 0 .. 1.
CREATE OR REPLACE MACRO sqleval._labels(label_values) AS
    CONCAT(
        'label must hold 0 and 1 (or -1 and 1, or booleans), not ', label_values,
        ', a condition makes it so: label := (outcome = ''yes'')'
    );

CREATE OR REPLACE MACRO sqleval._missing(role, missing, n) AS
    CONCAT(
        role, ' is NULL or NaN (or not finite) in ', missing, ' of ', n,
        ' rows (nulls := ''drop'' leaves them out and counts them)'
    );

CREATE OR REPLACE MACRO sqleval._weights(largest_weight) AS
    CONCAT(
        'the largest weight of a slice is ', largest_weight, ', it must be in 1e-100 .. 1e100, as ',
        'products of weights must be within the range of DOUBLE: divide all weights by one number'
    );

CREATE OR REPLACE MACRO sqleval._verdict(audit, nulls, needs, argument_problem) AS TABLE
SELECT
    CASE
        WHEN argument_problem IS NOT NULL THEN argument_problem
        WHEN (nulls IN ('error', 'drop')) IS NOT TRUE
            THEN CONCAT('nulls must be ''error'' or ''drop'', not ', COALESCE(nulls, 'NULL'))
        WHEN MIN(a.label_text) IS NOT NULL
            THEN sqleval._labels(MIN(a.label_text))
        WHEN MIN(a.prediction_text) IS NOT NULL
            THEN CONCAT(
                'prediction holds ', MIN(a.prediction_text), ', which no label spells so: cast both ',
                'to one type, as label := CAST(y AS DOUBLE)'
            )
        WHEN SUM(a.label_between) > 0 OR MIN(a.label_low) = -1 AND SUM(a.label_zeros) > 0
            THEN sqleval._labels(CONCAT(MIN(a.label_low), ' to ', MAX(a.label_high)))
        WHEN nulls = 'error' AND SUM(a.label_missing) > 0
            THEN sqleval._missing('label', SUM(a.label_missing), SUM(a.n_rows))
        WHEN nulls = 'error' AND SUM(a.other_missing) > 0
            THEN sqleval._missing(MIN(a.other), SUM(a.other_missing), SUM(a.n_rows))
        WHEN nulls = 'error' AND SUM(a.weight_missing) > 0
            THEN sqleval._missing('weight', SUM(a.weight_missing), SUM(a.n_rows))
        WHEN SUM(a.weight_negative) > 0
            THEN CONCAT(
                'weight is negative in ', SUM(a.weight_negative), ' of ', SUM(a.n_rows), ' rows'
            )
        WHEN MIN(CASE WHEN a.weight_largest > 0 THEN a.weight_largest END) < 1e-100
            THEN sqleval._weights(MIN(CASE WHEN a.weight_largest > 0 THEN a.weight_largest END))
        WHEN MAX(a.weight_largest) > 1e100 THEN sqleval._weights(MAX(a.weight_largest))
        WHEN needs IS NOT NULL AND SUM(a.score_outside) > 0
            THEN CONCAT(
                needs, ', score is outside in ', SUM(a.score_outside), ' of ', SUM(a.n_rows), ' rows'
            )
    END AS problem
FROM QUERY_TABLE(audit) AS a;

-- The result of one metric, if it is requested: one row per slice. guarded: the metric is undefined
-- for scores outside 0 .. 1, and its note says so.
CREATE OR REPLACE MACRO sqleval._row(audit, result, name, is_requested, guarded) AS TABLE
SELECT
    a.slice_1 AS slice,
    name AS metric,
    CASE
        WHEN guarded AND a.score_outside > 0 THEN NULL
        ELSE CAST(r.value AS DOUBLE)
    END AS value,
    CAST(a.n_used AS BIGINT) AS n,
    CAST(a.n_rows - a.n_used AS BIGINT) AS n_dropped,
    CASE
        WHEN guarded AND a.score_outside > 0 THEN 'scores are outside 0 .. 1'
        WHEN a.n_used = 0 THEN 'no rows'
        WHEN r.value IS NULL THEN COALESCE(r.note, 'total weight is 0')
        ELSE r.note
    END AS note
FROM QUERY_TABLE(audit) AS a
LEFT JOIN QUERY_TABLE(result) AS r ON a.slice_1 IS NOT DISTINCT FROM r.slice_1
WHERE is_requested
UNION ALL
-- A table without rows still returns one row, because a check of `value` would pass if there were
-- none.
SELECT
    MIN(a.slice_1) AS slice,
    name AS metric,
    CAST(NULL AS DOUBLE) AS value,
    CAST(0 AS BIGINT) AS n,
    CAST(0 AS BIGINT) AS n_dropped,
    'no rows' AS note
FROM QUERY_TABLE(audit) AS a
HAVING COUNT(*) = 0 AND is_requested;

-- The names in a list, or in a text: 'roc_auc', or 'roc_auc, log_loss'.
CREATE OR REPLACE MACRO sqleval._names(metrics) AS
    LIST_FILTER(
        STRING_SPLIT_REGEX(TRIM(CAST(metrics AS VARCHAR), '[] '), ' *, *'), LAMBDA each: each <> ''
    );

-- Whether a metric is requested: without a list, the metrics of the default set are.
CREATE OR REPLACE MACRO sqleval._is_requested(metrics, name, by_default) AS
    CASE
        WHEN metrics IS NULL THEN by_default
        ELSE LIST_CONTAINS(sqleval._names(metrics), name)
    END;

-- Whether any of these metrics is requested; the default set contains some of them.
CREATE OR REPLACE MACRO sqleval._is_any_requested(metrics, names) AS
    metrics IS NULL OR LEN(LIST_INTERSECT(sqleval._names(metrics), names)) > 0;

-- The reason for an error if a metric requested by name needs scores in 0 .. 1.
CREATE OR REPLACE MACRO sqleval._needs(metrics, bounded_metrics) AS
    CASE
        WHEN LEN(LIST_INTERSECT(sqleval._names(metrics), bounded_metrics)) > 0
        THEN CONCAT(
            LIST_AGGREGATE(LIST_SORT(LIST_INTERSECT(sqleval._names(metrics), bounded_metrics)), 'string_agg', ', '),
            ': scores must lie in 0 .. 1'
        )
    END;

CREATE OR REPLACE MACRO sqleval._needs_threshold(threshold) AS
    CASE
        WHEN threshold IS NULL
        THEN 'the default threshold 0.5 is for scores in 0 .. 1 (threshold := gives one)'
    END;

-- The rows of a result, or the error that the audit found. The verdict is on the left of the join,
-- so that a result without rows does not hide it.
CREATE OR REPLACE MACRO sqleval._checked(audit, result, nulls, needs, argument_problem) AS TABLE
SELECT r.* EXCLUDE (is_row)
FROM sqleval._verdict(audit, nulls, needs, argument_problem) AS v
LEFT JOIN (SELECT q.*, TRUE AS is_row FROM QUERY_TABLE(result) AS q) AS r ON TRUE
WHERE CASE WHEN v.problem IS NULL THEN r.is_row IS NOT NULL ELSE ERROR(v.problem) END;

CREATE OR REPLACE MACRO sqleval._metric(audit, result, name, nulls, needs, argument_problem) AS TABLE
WITH _sqleval_rows AS (FROM sqleval._row(audit, result, name, TRUE, FALSE))
SELECT r.*
FROM sqleval._checked(audit, '_sqleval_rows', nulls, needs, argument_problem) AS r
ORDER BY r.slice;

-- Keep at most `points` points of a curve. Its length is the sum of its steps, and is divided into
-- points - 1 equal parts. The first point in each part stays, the last point of the curve, and a
-- point before a step that leaves out a part. So the length between two points that stay is less
-- than two parts, unless they are neighbours anyway.
CREATE OR REPLACE MACRO sqleval._thinned(steps, points) AS TABLE
SELECT p.* EXCLUDE (place, step, length, total, n_points, part)
FROM (
    SELECT
        l.*,
        -- 1e-9: many a step is a fraction of the length, whose sum is rounded up or down.
        COALESCE(LEAST(
            FLOOR(CAST(points - 1 AS DOUBLE) * l.length / NULLIF(l.total, 0) + 1e-9), points - 2
        ), 0) AS part
    FROM (
        SELECT
            s.*,
            SUM(s.step) OVER (
                PARTITION BY s.slice
                ORDER BY s.place
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS length,
            SUM(s.step) OVER (PARTITION BY s.slice) AS total,
            COUNT(*) OVER (PARTITION BY s.slice) AS n_points
        FROM QUERY_TABLE(steps) AS s
    ) AS l
) AS p
QUALIFY p.n_points <= points
    OR LAG(p.part) OVER (PARTITION BY p.slice ORDER BY p.place) IS DISTINCT FROM p.part
    OR COALESCE(LEAD(p.part) OVER (PARTITION BY p.slice ORDER BY p.place) > p.part + 1, TRUE);

CREATE OR REPLACE MACRO sqleval._wrong_points(points) AS
    CASE
        WHEN points IS NOT NULL
            AND (TRY_CAST(points AS DOUBLE) BETWEEN 2 AND 1e9
                AND TRY_CAST(points AS DOUBLE) = FLOOR(TRY_CAST(points AS DOUBLE))) IS NOT TRUE
            THEN CONCAT('points must be a whole number of 2 or more, not ', points)
    END;

-- Whether a class of two is the positive one: 1 or true, as a number or as text.
CREATE OR REPLACE MACRO sqleval._is_positive(class) AS
    CASE
        WHEN CAST(class AS VARCHAR) IN ('1', 'true') THEN TRUE
        WHEN CAST(class AS VARCHAR) IN ('0', 'false') THEN FALSE
        ELSE ERROR(CONCAT(
            'confusion_counts needs two classes, 0 and 1 or booleans, not ', class,
            ', conditions make them so: label := (y = ''yes''), prediction := (c = ''yes'')'
        ))
    END;

-- The first unknown name, and the known name most similar to it.
CREATE OR REPLACE MACRO sqleval._unknown(requested_names, known_names) AS
    CASE WHEN LEN(requested_names) = 0 THEN 'no metric is named' ELSE LIST_TRANSFORM(
        LIST_FILTER(requested_names, LAMBDA each: NOT LIST_CONTAINS(known_names, each)),
        LAMBDA each: CONCAT(
            'no metric called ''', each, ''', did you mean ''',
            COALESCE(
                sqleval._called(each),
                LIST_REVERSE_SORT(LIST_TRANSFORM(known_names, LAMBDA name: STRUCT_PACK(
                    likeness := JARO_WINKLER_SIMILARITY(each, name), name := name
                )))[1].name
            ), '''?'
        )
    )[1] END;

-- The area under the ROC curve as an aggregate: SELECT carrier, sqleval.auc(y, p) FROM preds GROUP
-- BY carrier. It counts per distinct score, then walks over the scores. auc_binned counts per bin
-- instead, linear in the rows: a bin holds the scores that agree in their first `bits` significant
-- bits (Veltkamp's splitting, exact and monotone). The order of the rows inside a bin is unknown:
-- auc_low counts its positive-negative pairs as wrong, auc_high as right, auc_binned as one half.
CREATE OR REPLACE MACRO sqleval._split(score, bits) AS
    (POWER(2e0, 53 - bits) + 1e0) * score - ((POWER(2e0, 53 - bits) + 1e0) * score - score);

CREATE OR REPLACE MACRO sqleval._bin(score, bits) AS
    CASE
        WHEN (bits BETWEEN 1 AND 53 AND bits = FLOOR(CAST(bits AS DOUBLE))) IS NOT TRUE
            THEN ERROR(CONCAT(
                'auc: bits must be a whole number from 1 to 53, not ',
                COALESCE(CAST(bits AS VARCHAR), 'NULL')
            ))
        -- Near overflow, the score is divided by a power of two before the splitting.
        WHEN ABS(score) > 1e290 AND ISFINITE(score)
            THEN 1.152921504606847e18 * sqleval._split(score / 1.152921504606847e18, bits)
        WHEN ISFINITE(score) THEN sqleval._split(score, bits)
        ELSE score
    END;

CREATE OR REPLACE MACRO sqleval._auc_class(label) AS
    CASE
        WHEN CAST(label AS DOUBLE) = 1 THEN 1
        WHEN CAST(label AS DOUBLE) = 0 THEN 0
        WHEN label IS NOT NULL
            THEN ERROR(CONCAT('auc: label must hold 0 and 1, or booleans, not ', label))
    END;

CREATE OR REPLACE MACRO sqleval._auc_score(score) AS
    CASE
        WHEN score IS NOT NULL AND NOT sqleval._scores_usable(0, score, 1)
            THEN ERROR('auc: score is NaN')
        ELSE CAST(score AS DOUBLE)
    END;

-- The counts by bin and class as a list in order of score, and a walk over it that sums positives,
-- negatives, pairs in order and pairs within a bin. HUGEINT, because the number of pairs may exceed
-- BIGINT.
CREATE OR REPLACE MACRO sqleval._auc_walk(label, score, bits) AS
    LIST_REDUCE(
        LIST_TRANSFORM(
            LIST_SORT(MAP_ENTRIES(HISTOGRAM(STRUCT_PACK(
                bin := sqleval._bin(sqleval._auc_score(score), bits),
                class := sqleval._auc_class(label)
            )) FILTER (WHERE label IS NOT NULL AND score IS NOT NULL))),
            LAMBDA _entry: STRUCT_PACK(
                bin := _entry['key']['bin'],
                class := _entry['key']['class'],
                n := CAST(_entry['value'] AS HUGEINT),
                positives := CAST(0 AS HUGEINT),
                negatives := CAST(0 AS HUGEINT),
                tied := CAST(0 AS HUGEINT),
                ordered := CAST(0 AS HUGEINT),
                mixed := CAST(0 AS HUGEINT)
            )
        ),
        LAMBDA _sofar, _next: STRUCT_PACK(
            bin := _next['bin'],
            class := _next['class'],
            n := _next['n'],
            positives := _sofar['positives'] + CASE WHEN _next['class'] = 1 THEN _next['n'] ELSE 0 END,
            negatives := _sofar['negatives'] + CASE WHEN _next['class'] = 0 THEN _next['n'] ELSE 0 END,
            -- The negatives of the bin, which are listed before its positives.
            tied := CASE
                WHEN _next['class'] = 0 THEN _next['n']
                WHEN _next['bin'] = _sofar['bin'] THEN _sofar['tied']
                ELSE 0
            END,
            ordered := _sofar['ordered'] + CASE
                WHEN _next['class'] = 0 THEN 0
                WHEN _next['bin'] = _sofar['bin'] THEN _next['n'] * (_sofar['negatives'] - _sofar['tied'])
                ELSE _next['n'] * _sofar['negatives']
            END,
            mixed := _sofar['mixed'] + CASE
                WHEN _next['class'] = 1 AND _next['bin'] = _sofar['bin'] THEN _next['n'] * _sofar['tied']
                ELSE 0
            END
        ),
        STRUCT_PACK(
            bin := CAST(NULL AS DOUBLE),
            class := -1,
            n := CAST(0 AS HUGEINT),
            positives := CAST(0 AS HUGEINT),
            negatives := CAST(0 AS HUGEINT),
            tied := CAST(0 AS HUGEINT),
            ordered := CAST(0 AS HUGEINT),
            mixed := CAST(0 AS HUGEINT)
        )
    );

-- `room` widens the bounds by the rounding error of two divisions: this one, and the one in the
-- value that they are compared with.
CREATE OR REPLACE MACRO sqleval._auc_share(walked, share, room) AS
    LIST_TRANSFORM(
        [walked],
        LAMBDA _sum: LEAST(GREATEST(
            (CAST(_sum['ordered'] AS DOUBLE) + share * CAST(_sum['mixed'] AS DOUBLE))
                / NULLIF(CAST(_sum['positives'] AS DOUBLE) * CAST(_sum['negatives'] AS DOUBLE), 0) + room,
            CASE WHEN _sum['positives'] > 0 AND _sum['negatives'] > 0 THEN 0e0 END
        ), CASE WHEN _sum['positives'] > 0 AND _sum['negatives'] > 0 THEN 1e0 END)
    )[1];

-- Classes are in order of score, one byte a row; a count per distinct score would take far more
-- memory.
CREATE OR REPLACE MACRO sqleval._auc_positions(classes) AS
    LIST_SUM(LIST_TRANSFORM(classes, LAMBDA _class, _position: _class * _position));

-- The sum of the positions of the positives, minus the sum without negatives, is the number of
-- negatives below them. `negatives_first` and `positives_first` are two orders of equal scores:
-- their mean counts a tied pair as half.
CREATE OR REPLACE MACRO sqleval._auc_mean(negatives_first, positives_first) AS
    (
        sqleval._auc_positions(negatives_first) + sqleval._auc_positions(positives_first)
        - LIST_SUM(negatives_first) * (LIST_SUM(negatives_first) + 1)
    ) / NULLIF(
        2e0 * LIST_SUM(negatives_first) * (LEN(negatives_first) - LIST_SUM(negatives_first)), 0
    );

CREATE OR REPLACE MACRO sqleval.auc(label, score) AS
    sqleval._auc_mean(
        LIST(CAST(sqleval._auc_class(label) AS TINYINT)
            ORDER BY sqleval._auc_score(score), sqleval._auc_class(label))
            FILTER (WHERE label IS NOT NULL AND score IS NOT NULL),
        LIST(CAST(sqleval._auc_class(label) AS TINYINT)
            ORDER BY sqleval._auc_score(score), sqleval._auc_class(label) DESC)
            FILTER (WHERE label IS NOT NULL AND score IS NOT NULL)
    );

CREATE OR REPLACE MACRO sqleval.auc_binned(label, score, bits := 11) AS
    sqleval._auc_share(sqleval._auc_walk(label, score, bits), 5e-1, 0e0);

CREATE OR REPLACE MACRO sqleval.auc_low(label, score, bits := 11) AS
    sqleval._auc_share(sqleval._auc_walk(label, score, bits), 0e0, -1e-15);

CREATE OR REPLACE MACRO sqleval.auc_high(label, score, bits := 11) AS
    sqleval._auc_share(sqleval._auc_walk(label, score, bits), 1e0, 1e-15);

COMMENT ON MACRO sqleval.auc IS 'area under the ROC curve as an aggregate, exact: SELECT c, sqleval.auc(y, p) FROM preds GROUP BY c';

COMMENT ON MACRO sqleval.auc_binned IS 'area under the ROC curve of binned scores as an aggregate, approximate (auc_low and auc_high are bounds of the exact value), for many distinct scores: SELECT c, sqleval.auc_binned(y, p) FROM preds GROUP BY c';

COMMENT ON MACRO sqleval.auc_low IS 'lower bound of the exact area under the ROC curve, from the counts per bin: SELECT sqleval.auc_low(y, p) FROM preds';

COMMENT ON MACRO sqleval.auc_high IS 'upper bound of the exact area under the ROC curve, from the counts per bin: SELECT sqleval.auc_high(y, p) FROM preds';

-- The normal distribution function, P(Z <= z), which DuckDB lacks. For |z| < 7.07 the rational
-- approximation of Hart et al. (1968), Computer Approximations, no. 5666; beyond that a continued
-- fraction; both as given by West (2005), Better approximations to cumulative normal functions.
CREATE OR REPLACE MACRO sqleval._upper_tail(x) AS
    CASE
        WHEN x < 7.07106781186547e0 THEN EXP(-x * x / 2e0)
            * ((((((3.52624965998911e-2 * x + 7.00383064443688e-1) * x + 6.37396220353165e0) * x
                + 3.3912866078383e1) * x + 1.12079291497871e2) * x + 2.21213596169931e2) * x
                + 2.20206867912376e2)
            / (((((((8.83883476483184e-2 * x + 1.75566716318264e0) * x + 1.6064177579207e1) * x
                + 8.67807322029461e1) * x + 2.96564248779674e2) * x + 6.37333633378831e2) * x
                + 7.93826512519948e2) * x + 4.40413735824752e2)
        ELSE EXP(-x * x / 2e0)
            / (x + 1e0 / (x + 2e0 / (x + 3e0 / (x + 4e0 / (x + 6.5e-1)))))
            / 2.506628274631e0
    END;

CREATE OR REPLACE MACRO sqleval.normal_cdf(z) AS
    CASE
        WHEN z > 0 THEN 1e0 - sqleval._upper_tail(CAST(z AS DOUBLE))
        ELSE sqleval._upper_tail(-CAST(z AS DOUBLE))
    END;

COMMENT ON MACRO sqleval.normal_cdf IS 'the normal distribution function, P(Z <= z), within 1e-15: SELECT sqleval.normal_cdf(1.96)';

-- Two scores of the same rows: the area under the ROC curve of score minus that of baseline, with
-- the standard error of DeLong, DeLong and Clarke-Pearson (1988) for paired curves. A row's mean
-- rank among all rows minus its mean rank within its own class is the number of rows of the other
-- class below it, ties as half.
CREATE OR REPLACE MACRO sqleval._beaten(source) AS TABLE
SELECT
    s.slice_1 AS slice_1,
    s.label AS label,
    RANK() OVER (PARTITION BY s.slice_1 ORDER BY s.score)
        + 5e-1 * COUNT(*) OVER (PARTITION BY s.slice_1, s.score)
        - RANK() OVER (PARTITION BY s.slice_1, s.label ORDER BY s.score)
        - 5e-1 * COUNT(*) OVER (PARTITION BY s.slice_1, s.label, s.score) AS beaten,
    RANK() OVER (PARTITION BY s.slice_1 ORDER BY s.baseline)
        + 5e-1 * COUNT(*) OVER (PARTITION BY s.slice_1, s.baseline)
        - RANK() OVER (PARTITION BY s.slice_1, s.label ORDER BY s.baseline)
        - 5e-1 * COUNT(*) OVER (PARTITION BY s.slice_1, s.label, s.baseline) AS baseline_beaten
FROM (SELECT q.* REPLACE (sqleval._number(q.label) AS label) FROM QUERY_TABLE(source) AS q) AS s
WHERE sqleval._scores_usable(s.label, s.score, s.weight);

CREATE OR REPLACE MACRO sqleval._difference(beaten) AS TABLE
SELECT
    d.slice_1 AS slice_1,
    d.positives AS positives,
    d.negatives AS negatives,
    d.positive_sum / NULLIF(CAST(d.positives AS DOUBLE) * d.negatives, 0) AS value,
    SQRT(
        d.positive_variance / NULLIF(CAST(d.positives AS DOUBLE) * POWER(d.negatives, 2), 0)
        + d.negative_variance / NULLIF(CAST(d.negatives AS DOUBLE) * POWER(d.positives, 2), 0)
    ) AS stderr
FROM (
    SELECT
        b.slice_1 AS slice_1,
        COUNT(CASE WHEN b.label = 1 THEN 1 END) AS positives,
        COUNT(CASE WHEN b.label <> 1 THEN 1 END) AS negatives,
        SUM(CASE WHEN b.label = 1 THEN b.beaten - b.baseline_beaten END) AS positive_sum,
        VAR_SAMP(CASE WHEN b.label = 1 THEN b.beaten - b.baseline_beaten END)
            AS positive_variance,
        VAR_SAMP(CASE WHEN b.label <> 1 THEN b.beaten - b.baseline_beaten END)
            AS negative_variance
    FROM QUERY_TABLE(beaten) AS b
    GROUP BY b.slice_1
) AS d;

CREATE OR REPLACE MACRO sqleval.roc_auc_difference(
    tbl, label, score, baseline, slice := CAST('all' AS ENUM('all')), nulls := 'error'
) AS TABLE (
WITH _sqleval_source AS NOT MATERIALIZED (
    SELECT
        slice AS slice_1,
        label AS label,
        CASE WHEN sqleval._scores_usable(0, baseline, 1) THEN score END AS score,
        1 AS weight,
        baseline AS baseline
    FROM QUERY_TABLE(tbl)
),
_sqleval_audit AS (
    SELECT a.* REPLACE ('score or baseline' AS other)
    FROM sqleval._scores_audit('_sqleval_source') AS a
),
_sqleval_beaten AS (FROM sqleval._beaten('_sqleval_source')),
_sqleval_difference AS (FROM sqleval._difference('_sqleval_beaten')),
_sqleval_result AS (
    SELECT
        a.slice_1 AS slice,
        d.value AS value,
        d.stderr AS stderr,
        d.value / NULLIF(d.stderr, 0) AS z,
        2e0 * sqleval.normal_cdf(-ABS(d.value / NULLIF(d.stderr, 0))) AS p_value,
        CAST(a.n_used AS BIGINT) AS n,
        CAST(a.n_rows - a.n_used AS BIGINT) AS n_dropped,
        CASE
            WHEN a.n_used = 0 THEN 'no rows'
            WHEN d.positives = 0 THEN 'no positive labels'
            WHEN d.negatives = 0 THEN 'no negative labels'
            WHEN d.stderr IS NULL THEN 'no standard error: one row of a class'
            WHEN d.stderr = 0 THEN 'the two rank the classes alike, row by row'
        END AS note
    FROM _sqleval_audit AS a
    LEFT JOIN _sqleval_difference AS d ON a.slice_1 IS NOT DISTINCT FROM d.slice_1
)
SELECT r.*
FROM sqleval._checked('_sqleval_audit', '_sqleval_result', nulls, NULL, NULL) AS r
ORDER BY r.slice
);

COMMENT ON MACRO TABLE sqleval.roc_auc_difference IS 'difference of two areas under the ROC curve on the same rows, with a p-value (DeLong): FROM sqleval.roc_auc_difference(''preds'', label := y, score := b, baseline := a)';
