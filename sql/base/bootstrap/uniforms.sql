/*
summary: >-
  a number between 0 and 1 per unit and replicate, uniformly distributed and independent, made of
  whole numbers only, so that it is the same on every engine, whatever the threads, files and order
  of rows
*/
SELECT
    slice,
    replicate,
    mean,
    -- The last of three rounds of multiplication and squaring modulo the prime 2^31 - 1, with two
    -- random numbers per replicate: after the first round, neighbouring units are far apart, and
    -- the squares keep sums of rounds from being linear in the unit. No product exceeds 2^62.
    (
        CAST(
            ((third * third + second_salt + unit) % 2147483647 * 16807 + first_salt) % 2147483647
            AS DOUBLE
        ) + 5e-1
    ) / 2147483647e0 AS share
FROM (
    SELECT
        slice,
        replicate,
        mean,
        unit,
        first_salt,
        second_salt,
        ((second * second + second_salt) % 2147483647 * 69621 + unit + first_salt)
            % 2147483647 AS third
    FROM (
        SELECT
            cells.slice,
            cells.unit,
            cells.mean,
            replicates.replicate,
            replicates.first_salt,
            replicates.second_salt,
            (cells.unit * 48271 + replicates.first_salt) % 2147483647 AS second
        FROM cells
        CROSS JOIN replicates
    ) AS first_round
) AS second_round
