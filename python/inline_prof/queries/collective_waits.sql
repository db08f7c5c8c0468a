-- What each collective waits for, those that wait longest first: in the iterations that all its
-- devices measured, the least time is transfer, and what a device takes above it is waiting.  The
-- device that waits least is the last to arrive.
WITH measured AS (
  SELECT event.run, event.layer, event.event, event.occurrence, event.meeting, event.host,
    event.rank, event.device_id, sample.iteration, MAX(sample.measured_ms) * 1000 AS time_us
  FROM event JOIN sample ON event.run = sample.run AND event.host = sample.host
    AND COALESCE(event.rank, -1) = COALESCE(sample.rank, -1)
    AND event.event_index = sample.event_index
  WHERE event.is_main_phase AND event.is_collective AND sample.iteration IS NOT NULL
  GROUP BY event.run, event.layer, event.event, event.occurrence, event.meeting, event.host,
    event.rank, event.device_id, sample.iteration
), taking_part AS (
  SELECT run, layer, event, occurrence, meeting, COUNT(*) AS devices
  FROM (SELECT DISTINCT run, layer, event, occurrence, meeting, host, rank, device_id
        FROM measured) AS each_device
  GROUP BY run, layer, event, occurrence, meeting
), of_iteration AS (
  SELECT run, layer, event, occurrence, meeting, iteration, COUNT(*) AS present,
    MIN(time_us) AS transfer_us, AVG(time_us) - MIN(time_us) AS wait_us
  FROM measured
  GROUP BY run, layer, event, occurrence, meeting, iteration
), common_iteration AS (
  SELECT of_iteration.run, of_iteration.layer, of_iteration.event, of_iteration.occurrence,
    of_iteration.meeting, iteration, transfer_us, wait_us
  FROM of_iteration JOIN taking_part ON of_iteration.run = taking_part.run
    AND of_iteration.layer = taking_part.layer AND of_iteration.event = taking_part.event
    AND of_iteration.occurrence = taking_part.occurrence
    AND of_iteration.meeting = taking_part.meeting
  WHERE present = devices AND devices >= 2
), placed AS (
  SELECT *,
    ROW_NUMBER() OVER (PARTITION BY run, layer, event, occurrence, meeting
                       ORDER BY transfer_us) AS transfer_place,
    ROW_NUMBER() OVER (PARTITION BY run, layer, event, occurrence, meeting
                       ORDER BY wait_us) AS wait_place,
    COUNT(*) OVER (PARTITION BY run, layer, event, occurrence, meeting) AS iterations
  FROM common_iteration
), middle AS (
  SELECT run, layer, event, occurrence, meeting, MAX(iterations) AS iterations,
    AVG(CASE WHEN 2 * transfer_place BETWEEN iterations AND iterations + 2
        THEN transfer_us END) AS transfer_us,
    AVG(CASE WHEN 2 * wait_place BETWEEN iterations AND iterations + 2
        THEN wait_us END) AS wait_us
  FROM placed
  GROUP BY run, layer, event, occurrence, meeting
), device_wait AS (
  SELECT measured.run, measured.layer, measured.event, measured.occurrence, measured.meeting,
    measured.host, measured.rank, measured.device_id,
    measured.time_us - common_iteration.transfer_us AS wait_us,
    ROW_NUMBER() OVER (PARTITION BY measured.run, measured.layer, measured.event,
                         measured.occurrence, measured.meeting, measured.host, measured.rank,
                         measured.device_id
                       ORDER BY measured.time_us - common_iteration.transfer_us) AS place,
    COUNT(*) OVER (PARTITION BY measured.run, measured.layer, measured.event,
                     measured.occurrence, measured.meeting, measured.host, measured.rank,
                     measured.device_id) AS iterations
  FROM measured JOIN common_iteration ON measured.run = common_iteration.run
    AND measured.layer = common_iteration.layer AND measured.event = common_iteration.event
    AND measured.occurrence = common_iteration.occurrence
    AND measured.meeting = common_iteration.meeting
    AND measured.iteration = common_iteration.iteration
), device_middle AS (
  SELECT run, layer, event, occurrence, meeting, host, rank, device_id, AVG(wait_us) AS wait_us
  FROM device_wait
  WHERE 2 * place BETWEEN iterations AND iterations + 2
  GROUP BY run, layer, event, occurrence, meeting, host, rank, device_id
), last_device AS (
  SELECT *,
    ROW_NUMBER() OVER (PARTITION BY run, layer, event, occurrence, meeting
                       ORDER BY wait_us, rank, device_id) AS place
  FROM device_middle
)
SELECT middle.run, middle.layer, middle.event, middle.occurrence, iterations, transfer_us,
  middle.wait_us, last_device.host AS last_host, last_device.rank AS last_rank,
  last_device.device_id AS last_device_id
FROM middle JOIN last_device ON middle.run = last_device.run
  AND middle.layer = last_device.layer AND middle.event = last_device.event
  AND middle.occurrence = last_device.occurrence AND middle.meeting = last_device.meeting
WHERE last_device.place = 1
ORDER BY wait_us DESC, middle.run, middle.layer, middle.event, middle.occurrence
