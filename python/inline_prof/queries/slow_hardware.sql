-- Devices that were stragglers at the same event in several runs: hardware rather than chance.
-- Median and median deviation are of the exact middle values, as prof-analyze takes them: the one or two
-- places for which twice the place lies between the number of values and that plus two.
WITH device_time AS (
  SELECT run, host, file, rank, device_id, layer, event, occurrence, SUM(raw_us) AS time_us
  FROM event
  WHERE is_main_phase AND raw_us IS NOT NULL AND NOT is_collective
  GROUP BY run, host, file, rank, device_id, layer, event, occurrence
), placed AS (
  SELECT *,
    ROW_NUMBER() OVER (PARTITION BY run, layer, event, occurrence ORDER BY time_us) AS place,
    COUNT(*) OVER (PARTITION BY run, layer, event, occurrence) AS devices
  FROM device_time
), middle AS (
  SELECT run, layer, event, occurrence, AVG(time_us) AS median_us
  FROM placed
  WHERE 2 * place BETWEEN devices AND devices + 2
  GROUP BY run, layer, event, occurrence
), deviation AS (
  SELECT placed.run, placed.layer, placed.event, placed.occurrence, devices,
    ABS(time_us - median_us) AS deviation_us,
    ROW_NUMBER() OVER (PARTITION BY placed.run, placed.layer, placed.event, placed.occurrence
                       ORDER BY ABS(time_us - median_us)) AS place
  FROM placed JOIN middle ON placed.run = middle.run AND placed.layer = middle.layer
    AND placed.event = middle.event AND placed.occurrence = middle.occurrence
), spread AS (
  SELECT run, layer, event, occurrence, AVG(deviation_us) AS mad_us
  FROM deviation
  WHERE 2 * place BETWEEN devices AND devices + 2
  GROUP BY run, layer, event, occurrence
), straggler AS (
  SELECT placed.run, placed.host, placed.rank, placed.device_id, placed.layer, placed.event,
    placed.occurrence, time_us, median_us, time_us / median_us AS ratio
  FROM placed
  JOIN middle ON placed.run = middle.run AND placed.layer = middle.layer
    AND placed.event = middle.event AND placed.occurrence = middle.occurrence
  JOIN spread ON placed.run = spread.run AND placed.layer = spread.layer
    AND placed.event = spread.event AND placed.occurrence = spread.occurrence
  WHERE devices >= 3 AND median_us > 0 AND time_us > median_us * CAST(1.05 AS DOUBLE)
    AND time_us - median_us > 5 * mad_us
)
SELECT host, device_id, layer, event, occurrence, COUNT(DISTINCT run) AS runs,
  AVG(ratio) AS mean_ratio
FROM straggler
GROUP BY host, device_id, layer, event, occurrence
HAVING COUNT(DISTINCT run) >= 2
ORDER BY runs DESC, mean_ratio DESC, host, device_id, layer, event, occurrence
