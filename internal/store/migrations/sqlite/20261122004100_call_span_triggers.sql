-- +goose Up
-- Written by hand: call_spans holds, for each minute and each hour, how many calls began to count (package call, usage.go
-- says which count) and the seconds of those that have ended. A migration that rebuilds calls must repeat the triggers.
-- +goose StatementBegin
CREATE TRIGGER call_spans_insert AFTER INSERT ON calls WHEN (NEW.queued_at IS NOT NULL AND NEW.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (NEW.status <> 'canceled' OR NEW.dialed_at IS NOT NULL))
BEGIN
  INSERT INTO call_spans (workspace_id, length, start, calls, seconds)
  SELECT NEW.workspace_id, 60, substr(NEW.queued_at, 1, 16) || ':00+00:00', 1, COALESCE(NEW.duration, 0) WHERE (NEW.queued_at IS NOT NULL AND NEW.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (NEW.status <> 'canceled' OR NEW.dialed_at IS NOT NULL))
  ON CONFLICT (workspace_id, length, start) DO UPDATE SET calls = calls + 1, seconds = seconds + excluded.seconds;
  INSERT INTO call_spans (workspace_id, length, start, calls, seconds)
  SELECT NEW.workspace_id, 3600, substr(NEW.queued_at, 1, 13) || ':00:00+00:00', 1, COALESCE(NEW.duration, 0) WHERE (NEW.queued_at IS NOT NULL AND NEW.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (NEW.status <> 'canceled' OR NEW.dialed_at IS NOT NULL))
  ON CONFLICT (workspace_id, length, start) DO UPDATE SET calls = calls + 1, seconds = seconds + excluded.seconds;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER call_spans_update AFTER UPDATE OF status, queued_at, dialed_at, duration ON calls
WHEN (OLD.queued_at IS NOT NULL AND OLD.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (OLD.status <> 'canceled' OR OLD.dialed_at IS NOT NULL)) IS NOT (NEW.queued_at IS NOT NULL AND NEW.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (NEW.status <> 'canceled' OR NEW.dialed_at IS NOT NULL)) OR OLD.queued_at IS NOT NEW.queued_at OR OLD.duration IS NOT NEW.duration
BEGIN
  UPDATE call_spans SET calls = calls - 1, seconds = seconds - COALESCE(OLD.duration, 0)
  WHERE workspace_id = OLD.workspace_id AND length = 60 AND start = substr(OLD.queued_at, 1, 16) || ':00+00:00' AND (OLD.queued_at IS NOT NULL AND OLD.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (OLD.status <> 'canceled' OR OLD.dialed_at IS NOT NULL));
  UPDATE call_spans SET calls = calls - 1, seconds = seconds - COALESCE(OLD.duration, 0)
  WHERE workspace_id = OLD.workspace_id AND length = 3600 AND start = substr(OLD.queued_at, 1, 13) || ':00:00+00:00' AND (OLD.queued_at IS NOT NULL AND OLD.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (OLD.status <> 'canceled' OR OLD.dialed_at IS NOT NULL));
  INSERT INTO call_spans (workspace_id, length, start, calls, seconds)
  SELECT NEW.workspace_id, 60, substr(NEW.queued_at, 1, 16) || ':00+00:00', 1, COALESCE(NEW.duration, 0) WHERE (NEW.queued_at IS NOT NULL AND NEW.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (NEW.status <> 'canceled' OR NEW.dialed_at IS NOT NULL))
  ON CONFLICT (workspace_id, length, start) DO UPDATE SET calls = calls + 1, seconds = seconds + excluded.seconds;
  INSERT INTO call_spans (workspace_id, length, start, calls, seconds)
  SELECT NEW.workspace_id, 3600, substr(NEW.queued_at, 1, 13) || ':00:00+00:00', 1, COALESCE(NEW.duration, 0) WHERE (NEW.queued_at IS NOT NULL AND NEW.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (NEW.status <> 'canceled' OR NEW.dialed_at IS NOT NULL))
  ON CONFLICT (workspace_id, length, start) DO UPDATE SET calls = calls + 1, seconds = seconds + excluded.seconds;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER call_spans_delete AFTER DELETE ON calls WHEN (OLD.queued_at IS NOT NULL AND OLD.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (OLD.status <> 'canceled' OR OLD.dialed_at IS NOT NULL))
BEGIN
  UPDATE call_spans SET calls = calls - 1, seconds = seconds - COALESCE(OLD.duration, 0)
  WHERE workspace_id = OLD.workspace_id AND length = 60 AND start = substr(OLD.queued_at, 1, 16) || ':00+00:00' AND (OLD.queued_at IS NOT NULL AND OLD.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (OLD.status <> 'canceled' OR OLD.dialed_at IS NOT NULL));
  UPDATE call_spans SET calls = calls - 1, seconds = seconds - COALESCE(OLD.duration, 0)
  WHERE workspace_id = OLD.workspace_id AND length = 3600 AND start = substr(OLD.queued_at, 1, 13) || ':00:00+00:00' AND (OLD.queued_at IS NOT NULL AND OLD.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (OLD.status <> 'canceled' OR OLD.dialed_at IS NOT NULL));
END;
-- +goose StatementEnd
INSERT INTO call_spans (workspace_id, length, start, calls, seconds)
SELECT workspace_id, 60, substr(queued_at, 1, 16) || ':00+00:00', count(*), sum(COALESCE(duration, 0)) FROM calls WHERE (calls.queued_at IS NOT NULL AND calls.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (calls.status <> 'canceled' OR calls.dialed_at IS NOT NULL)) GROUP BY 1, 3;
INSERT INTO call_spans (workspace_id, length, start, calls, seconds)
SELECT workspace_id, 3600, substr(queued_at, 1, 13) || ':00:00+00:00', count(*), sum(COALESCE(duration, 0)) FROM calls WHERE (calls.queued_at IS NOT NULL AND calls.status NOT IN ('not-scheduled', 'scheduled', 'paused', 'blocked', 'skipped') AND (calls.status <> 'canceled' OR calls.dialed_at IS NOT NULL)) GROUP BY 1, 3;
