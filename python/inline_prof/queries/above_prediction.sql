-- The layers furthest above their predictions over all runs and devices: the time of their predicted
-- outermost events over what these were predicted to take, and what an iteration would save.
WITH predicted AS (
  SELECT run, host, file, device_id, layer, SUM(in_iteration_us) AS time_us,
    SUM(in_iteration_us / ratio) AS predicted_us
  FROM event
  WHERE is_main_phase AND is_outermost_of_layer AND ratio > 0 AND in_iteration_us IS NOT NULL
  GROUP BY run, host, file, device_id, layer
)
SELECT layer, COUNT(DISTINCT run) AS runs, COUNT(*) AS devices, AVG(time_us) AS mean_us,
  AVG(predicted_us) AS mean_predicted_us, SUM(time_us) / SUM(predicted_us) AS ratio,
  AVG(time_us - predicted_us) AS saved_us
FROM predicted
GROUP BY layer
ORDER BY saved_us DESC, layer
