/*
summary: what stands before the key in the text that is hashed, for each repeat
params:
  repeats: series in [1, 10000] = 1
  seed: int = 0
*/
SELECT
    i AS repeat,
    CAST($seed AS VARCHAR) || ':' || CAST(i AS VARCHAR) || ':' AS prefix
FROM repeats
