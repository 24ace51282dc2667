-- +goose Up
DROP INDEX "call_queued";
CREATE INDEX "call_queued" ON "calls" ("workspace_id", "created_at", "id") WHERE ((status)::text = 'queued'::text);
CREATE INDEX "call_usage" ON "calls" ("workspace_id", "created_at", "status", "dialed_at", "duration");
