-- +goose Up
DROP INDEX "call_queued";
DROP INDEX "call_usage";
ALTER TABLE "calls" ADD COLUMN "queued_at" timestamptz NULL;
-- every call so far was queued when it was made; written by hand
UPDATE "calls" SET "queued_at" = "created_at";
CREATE INDEX "call_queued" ON "calls" ("workspace_id", "queued_at", "id") WHERE ((status)::text = 'queued'::text);
CREATE INDEX "call_usage" ON "calls" ("workspace_id", "queued_at", "status", "dialed_at", "duration", "agent_id");
CREATE INDEX "call_campaign" ON "calls" ("workspace_id", "campaign_id", "status") WHERE (campaign_id IS NOT NULL);
CREATE INDEX "enrollment_active" ON "enrollments" ("workspace_id", "campaign_id") WHERE ((status)::text = 'active'::text);
