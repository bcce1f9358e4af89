/*
summary: joint_counts once for each digit of the place of the label, with the block of equal higher digits
*/
-- Places are numbers of base 4. Two different places differ first in exactly one digit, so each
-- pair of different labels is in one block at exactly one level, and its digits are in the order of
-- the labels. Pairs are counted block by block, without a row per pair.
SELECT
    joint_counts.slice,
    joint_counts.label,
    joint_counts.prediction,
    joint_counts.strip,
    CAST(joint_counts.mass AS DOUBLE) AS pair_mass,
    levels.level,
    FLOOR(CAST(places.place AS DOUBLE) / POWER(4e0, levels.level)) AS block,
    FLOOR(CAST(places.place AS DOUBLE) / POWER(4e0, levels.level - 1))
        - 4e0 * FLOOR(CAST(places.place AS DOUBLE) / POWER(4e0, levels.level)) AS digit
FROM joint_counts
JOIN label_ranks AS places USING (slice, label)
CROSS JOIN (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)) AS levels(level)
WHERE POWER(4e0, levels.level - 1) < places.total_labels
