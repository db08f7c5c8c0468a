-- The last run beside the one before, event by event, as prof-analyze compare has them without its
-- intervals: corrected time in an iteration, mean over devices, those that lose most time first.
WITH run_order AS (
  SELECT run, ROW_NUMBER() OVER (ORDER BY MIN(started_at) DESC, run DESC) AS place
  FROM run GROUP BY run
), event_time AS (
  SELECT place, layer, event, occurrence, stream_index, AVG(in_iteration_us) AS time_us
  FROM event JOIN run_order ON event.run = run_order.run
  WHERE place <= 2 AND is_main_phase AND corrected_us > 0 AND in_iteration_us IS NOT NULL
  GROUP BY place, layer, event, occurrence, stream_index
)
SELECT before.layer, before.event, before.occurrence, before.time_us AS before_us,
  after.time_us AS after_us, after.time_us / before.time_us AS ratio
FROM event_time AS before JOIN event_time AS after ON before.layer = after.layer
  AND before.event = after.event AND before.occurrence = after.occurrence
  AND before.stream_index = after.stream_index
WHERE before.place = 2 AND after.place = 1
ORDER BY after.time_us - before.time_us DESC, before.layer, before.event, before.occurrence,
  before.stream_index
