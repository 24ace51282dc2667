-- +goose Up
-- Written by hand: call_spans holds, for each minute and each hour, how many calls began to count (package call, usage.go
-- says which count) and the seconds of those that have ended. The triggers see whole statements, so that one which changes
-- many calls writes each span once.
-- +goose StatementBegin
CREATE FUNCTION call_spans_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN -- the workspace may be going: nothing is inserted
    UPDATE call_spans s SET calls = s.calls - d.calls, seconds = s.seconds - d.seconds
    FROM (SELECT workspace_id, length, date_trunc(unit, queued_at, 'UTC') AS start, count(*) AS calls, sum(COALESCE(duration, 0)) AS seconds
      FROM gone, (VALUES (60, 'minute'), (3600, 'hour')) l (length, unit) WHERE (gone.queued_at IS NOT NULL AND gone.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (gone.status <> 'canceled' OR gone.dialed_at IS NOT NULL)) GROUP BY 1, 2, 3) d
    WHERE s.workspace_id = d.workspace_id AND s.length = d.length AND s.start = d.start;
  ELSIF TG_OP = 'INSERT' THEN
    INSERT INTO call_spans AS s (workspace_id, length, start, calls, seconds)
    SELECT workspace_id, length, date_trunc(unit, queued_at, 'UTC'), count(*), sum(COALESCE(duration, 0))
    FROM come, (VALUES (60, 'minute'), (3600, 'hour')) l (length, unit) WHERE (come.queued_at IS NOT NULL AND come.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (come.status <> 'canceled' OR come.dialed_at IS NOT NULL)) GROUP BY 1, 2, 3
    ON CONFLICT (workspace_id, length, start) DO UPDATE SET calls = s.calls + excluded.calls, seconds = s.seconds + excluded.seconds;
  ELSE
    INSERT INTO call_spans AS s (workspace_id, length, start, calls, seconds)
    SELECT workspace_id, length, date_trunc(unit, queued_at, 'UTC'), sum(n), sum(n * COALESCE(duration, 0))
    FROM (SELECT workspace_id, queued_at, duration, 1 AS n FROM come WHERE (come.queued_at IS NOT NULL AND come.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (come.status <> 'canceled' OR come.dialed_at IS NOT NULL))
      UNION ALL SELECT workspace_id, queued_at, duration, -1 FROM gone WHERE (gone.queued_at IS NOT NULL AND gone.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (gone.status <> 'canceled' OR gone.dialed_at IS NOT NULL))) d,
      (VALUES (60, 'minute'), (3600, 'hour')) l (length, unit)
    GROUP BY 1, 2, 3 HAVING sum(n) <> 0 OR sum(n * COALESCE(duration, 0)) <> 0
    ON CONFLICT (workspace_id, length, start) DO UPDATE SET calls = s.calls + excluded.calls, seconds = s.seconds + excluded.seconds;
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER call_spans_insert AFTER INSERT ON calls REFERENCING NEW TABLE AS come FOR EACH STATEMENT EXECUTE FUNCTION call_spans_count();
CREATE TRIGGER call_spans_update AFTER UPDATE ON calls REFERENCING OLD TABLE AS gone NEW TABLE AS come FOR EACH STATEMENT EXECUTE FUNCTION call_spans_count();
CREATE TRIGGER call_spans_delete AFTER DELETE ON calls REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION call_spans_count();
INSERT INTO call_spans (workspace_id, length, start, calls, seconds)
SELECT workspace_id, length, date_trunc(unit, queued_at, 'UTC'), count(*), sum(COALESCE(duration, 0))
FROM calls, (VALUES (60, 'minute'), (3600, 'hour')) l (length, unit) WHERE (calls.queued_at IS NOT NULL AND calls.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (calls.status <> 'canceled' OR calls.dialed_at IS NOT NULL)) GROUP BY 1, 2, 3;
-- What the throttle of several processes counts in (SlidingLog); SQLite has one process. Its rows are rewritten with every
-- request: half of each page is left for that, and they are not worth a place in the write-ahead log.
CREATE UNLOGGED TABLE throttle (caller bytea NOT NULL PRIMARY KEY, times bigint[] NOT NULL, accepted boolean NOT NULL, at bigint NOT NULL) WITH (fillfactor = 50);
