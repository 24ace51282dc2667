-- +goose Up
-- the foreign keys named _same_ws are written by hand
ALTER TABLE "calls" ADD COLUMN "keep_until" timestamptz NULL, ADD COLUMN "erased_at" timestamptz NULL, ADD COLUMN "erased_for" character varying NULL;
CREATE INDEX "call_keep_until" ON "calls" ("keep_until") WHERE ((erased_at IS NULL) AND (keep_until IS NOT NULL));
CREATE INDEX "call_unerased" ON "calls" ("workspace_id", "agent_id", "created_at") WHERE (erased_at IS NULL);
ALTER TABLE "deliveries" ADD COLUMN "content" bytea NULL;
CREATE TABLE "tool_accesses" ("id" uuid NOT NULL, "workspace_id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "key_id" uuid NULL, "user_id" uuid NULL, "tool" character varying NOT NULL, "subject" character varying NOT NULL DEFAULT '', "address" character varying NOT NULL DEFAULT '', PRIMARY KEY ("id"));
CREATE INDEX "toolaccess_workspace_id_created_at_id" ON "tool_accesses" ("workspace_id", "created_at", "id");
CREATE UNIQUE INDEX "toolaccess_workspace_id_id" ON "tool_accesses" ("workspace_id", "id");
ALTER TABLE "tool_accesses" ADD CONSTRAINT "tool_accesses_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
