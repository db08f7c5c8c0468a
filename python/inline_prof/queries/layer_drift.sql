-- How long each layer takes in an iteration, mean over devices, run by run, beside the run before and
-- the first one.
WITH run_order AS (
  SELECT run, MIN(started_at) AS started_at FROM run GROUP BY run
), device_layer AS (
  SELECT run, host, file, device_id, layer, SUM(in_iteration_us) AS time_us
  FROM event
  WHERE is_main_phase AND is_outermost_of_layer AND in_iteration_us IS NOT NULL
  GROUP BY run, host, file, device_id, layer
), run_layer AS (
  SELECT run, layer, AVG(time_us) AS time_us FROM device_layer GROUP BY run, layer
)
SELECT layer, run_layer.run, started_at, time_us,
  time_us / LAG(time_us) OVER (PARTITION BY layer ORDER BY started_at, run_layer.run)
    AS over_run_before,
  time_us / FIRST_VALUE(time_us) OVER (PARTITION BY layer ORDER BY started_at, run_layer.run)
    AS over_first_run
FROM run_layer JOIN run_order ON run_layer.run = run_order.run
ORDER BY layer, started_at, run_layer.run
