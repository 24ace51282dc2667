-- +goose Up
ALTER TABLE "calls" ADD COLUMN "answered_by_reason" character varying NULL, ADD COLUMN "recording_consent" character varying NULL;
ALTER TABLE "turns" ADD COLUMN "timing" jsonb NULL;
ALTER TABLE "users" ADD COLUMN "oidc_issuer" character varying NULL, ADD COLUMN "oidc_subject" character varying NULL;
CREATE UNIQUE INDEX "user_oidc_issuer_oidc_subject" ON "users" ("oidc_issuer", "oidc_subject");
CREATE TABLE "agent_builds" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "website_url" character varying NOT NULL DEFAULT '', "instructions" character varying NOT NULL DEFAULT '', "status" character varying NOT NULL DEFAULT 'queued', "step" character varying NOT NULL DEFAULT '', "pages_found" bigint NOT NULL DEFAULT 0, "pages_read" bigint NOT NULL DEFAULT 0, "pages" jsonb NULL, "agent_id" uuid NULL, "writer" character varying NOT NULL DEFAULT '', "note" character varying NOT NULL DEFAULT '', "error_code" character varying NOT NULL DEFAULT '', "error" character varying NOT NULL DEFAULT '', "finished_at" timestamptz NULL, PRIMARY KEY ("id"));
CREATE INDEX "agentbuild_workspace_id_created_at_id" ON "agent_builds" ("workspace_id", "created_at", "id");
CREATE UNIQUE INDEX "agentbuild_workspace_id_id" ON "agent_builds" ("workspace_id", "id");
-- the foreign keys named _same_ws are written by hand
ALTER TABLE "agent_builds" ADD CONSTRAINT "agent_builds_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
