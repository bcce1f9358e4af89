/*
summary: the text that is hashed, per unit and repeat
params:
  repeats: series in [1, 10000] = 1
  seed: int = 0
*/
SELECT
    units.slice,
    prefixes.repeat,
    units.stratum,
    units.members,
    prefixes.prefix || units.text AS whole_text
FROM units
CROSS JOIN (
    SELECT
        i AS repeat,
        CAST($seed AS VARCHAR) || ':' || CAST(i AS VARCHAR) || ':' AS prefix
    FROM repeats
) AS prefixes
