-- +goose Up
CREATE UNIQUE INDEX "user_workspace_id_id" ON "users" ("workspace_id", "id");
CREATE TABLE "audit_entries" ("id" uuid NOT NULL, "workspace_id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "action" character varying NOT NULL, "user_id" uuid NULL, "actor" character varying NOT NULL DEFAULT '', "subject" character varying NOT NULL DEFAULT '', "detail" character varying NOT NULL DEFAULT '', "address" character varying NOT NULL DEFAULT '', PRIMARY KEY ("id"));
CREATE INDEX "auditentry_workspace_id_created_at_id" ON "audit_entries" ("workspace_id", "created_at", "id");
CREATE UNIQUE INDEX "auditentry_workspace_id_id" ON "audit_entries" ("workspace_id", "id");
CREATE TABLE "links" ("id" uuid NOT NULL, "kind" character varying NOT NULL, "hash" bytea NOT NULL, "workspace_id" uuid NULL, "user_id" uuid NULL, "email" character varying NOT NULL DEFAULT '', "role" character varying NOT NULL DEFAULT '', "created_by" uuid NULL, "created_at" timestamptz NOT NULL, "expires_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
CREATE INDEX "link_expires_at" ON "links" ("expires_at");
CREATE INDEX "link_workspace_id_kind_created_at" ON "links" ("workspace_id", "kind", "created_at");
CREATE UNIQUE INDEX "links_hash_key" ON "links" ("hash");
CREATE TABLE "pairings" ("id" uuid NOT NULL, "device_hash" bytea NOT NULL, "user_code" character varying NOT NULL, "client_name" character varying NOT NULL, "address" character varying NOT NULL, "created_at" timestamptz NOT NULL, "expires_at" timestamptz NOT NULL, "state" character varying NOT NULL DEFAULT 'pending', "interval" bigint NOT NULL, "polled_at" timestamptz NULL, "workspace_id" uuid NULL, "decided_by" uuid NULL, "key_id" uuid NULL, "claimed_at" timestamptz NULL, PRIMARY KEY ("id"));
CREATE INDEX "pairing_expires_at" ON "pairings" ("expires_at");
CREATE UNIQUE INDEX "pairings_device_hash_key" ON "pairings" ("device_hash");
CREATE UNIQUE INDEX "pairings_user_code_key" ON "pairings" ("user_code");
CREATE TABLE "sessions" ("id" uuid NOT NULL, "workspace_id" uuid NOT NULL, "user_id" uuid NOT NULL, "hash" bytea NOT NULL, "created_at" timestamptz NOT NULL, "used_at" timestamptz NOT NULL, "expires_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
CREATE INDEX "session_expires_at" ON "sessions" ("expires_at");
CREATE INDEX "session_user_id" ON "sessions" ("user_id");
CREATE UNIQUE INDEX "session_workspace_id_id" ON "sessions" ("workspace_id", "id");
CREATE UNIQUE INDEX "sessions_hash_key" ON "sessions" ("hash");
CREATE TABLE "tallies" ("id" uuid NOT NULL, "kind" character varying NOT NULL, "actor" character varying NOT NULL, "address" character varying NOT NULL, "at" timestamptz NOT NULL, PRIMARY KEY ("id"));
CREATE INDEX "tally_at" ON "tallies" ("at");
CREATE INDEX "tally_kind_actor_at" ON "tallies" ("kind", "actor", "at");
CREATE INDEX "tally_kind_address_at" ON "tallies" ("kind", "address", "at");
-- the foreign keys named _same_ws are written by hand
ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "links" ADD CONSTRAINT "links_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "links" ADD CONSTRAINT "links_user_same_ws" FOREIGN KEY ("workspace_id", "user_id") REFERENCES "users" ("workspace_id", "id") ON DELETE CASCADE;
ALTER TABLE "pairings" ADD CONSTRAINT "pairings_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_same_ws" FOREIGN KEY ("workspace_id", "user_id") REFERENCES "users" ("workspace_id", "id") ON DELETE CASCADE;
