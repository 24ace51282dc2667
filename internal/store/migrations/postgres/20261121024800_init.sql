-- +goose Up
-- create "api_keys" table
CREATE TABLE "api_keys" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL DEFAULT '', "hash" bytea NOT NULL, "hint" character varying NOT NULL, "scopes" jsonb NOT NULL, "source" character varying NOT NULL DEFAULT 'command', "created_by" uuid NULL, "last_used_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "api_keys_hash_key" to table: "api_keys"
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys" ("hash");
-- create index "apikey_workspace_id_created_at" to table: "api_keys"
CREATE INDEX "apikey_workspace_id_created_at" ON "api_keys" ("workspace_id", "created_at");
-- create index "apikey_workspace_id_id" to table: "api_keys"
CREATE UNIQUE INDEX "apikey_workspace_id_id" ON "api_keys" ("workspace_id", "id");
-- create "agents" table
CREATE TABLE "agents" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "name_fold" character varying NOT NULL, "status" character varying NOT NULL DEFAULT 'active', "modality" character varying NOT NULL DEFAULT 'voice', "language" character varying NOT NULL DEFAULT 'en', "settings" jsonb NOT NULL, PRIMARY KEY ("id"));
-- create index "agent_workspace_id_created_at_id" to table: "agents"
CREATE INDEX "agent_workspace_id_created_at_id" ON "agents" ("workspace_id", "created_at", "id");
-- create index "agent_workspace_id_id" to table: "agents"
CREATE UNIQUE INDEX "agent_workspace_id_id" ON "agents" ("workspace_id", "id");
-- create index "agent_workspace_id_name_id" to table: "agents"
CREATE INDEX "agent_workspace_id_name_id" ON "agents" ("workspace_id", "name", "id");
-- create "calls" table
CREATE TABLE "calls" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "direction" character varying NOT NULL, "status" character varying NOT NULL, "to_number" character varying NOT NULL, "from_number" character varying NOT NULL, "agent_id" uuid NULL, "contact_id" uuid NULL, "campaign_id" uuid NULL, "test" boolean NOT NULL DEFAULT false, "duration" bigint NULL, "metadata" jsonb NOT NULL, "variables" jsonb NULL, "answered_by" character varying NULL, "ended_reason" character varying NULL, "ended_message" character varying NULL, "retry_after" timestamptz NULL, "schedule_time" timestamptz NULL, "dialed_at" timestamptz NULL, "answered_at" timestamptz NULL, "ended_at" timestamptz NULL, "in_flight" boolean NOT NULL DEFAULT false, "lease_owner" character varying NOT NULL DEFAULT '', "lease_until" timestamptz NULL, "cancel_requested" boolean NOT NULL DEFAULT false, "leg" jsonb NULL, "recording_key" character varying NULL, "recording_size" bigint NULL, "recorded_at" timestamptz NULL, "latency" jsonb NULL, PRIMARY KEY ("id"));
-- create index "call_in_flight" to table: "calls"
CREATE INDEX "call_in_flight" ON "calls" ("workspace_id", "lease_until") WHERE in_flight;
-- create index "call_lease_until" to table: "calls"
CREATE INDEX "call_lease_until" ON "calls" ("lease_until") WHERE in_flight;
-- create index "call_queued" to table: "calls"
CREATE INDEX "call_queued" ON "calls" ("workspace_id", "created_at") WHERE ((status)::text = 'queued'::text);
-- create index "call_workspace_id_agent_id_created_at" to table: "calls"
CREATE INDEX "call_workspace_id_agent_id_created_at" ON "calls" ("workspace_id", "agent_id", "created_at");
-- create index "call_workspace_id_created_at_id" to table: "calls"
CREATE INDEX "call_workspace_id_created_at_id" ON "calls" ("workspace_id", "created_at", "id");
-- create index "call_workspace_id_id" to table: "calls"
CREATE UNIQUE INDEX "call_workspace_id_id" ON "calls" ("workspace_id", "id");
-- create index "call_workspace_id_status_created_at" to table: "calls"
CREATE INDEX "call_workspace_id_status_created_at" ON "calls" ("workspace_id", "status", "created_at");
-- create index "call_workspace_id_to_number_created_at" to table: "calls"
CREATE INDEX "call_workspace_id_to_number_created_at" ON "calls" ("workspace_id", "to_number", "created_at");
-- create "call_counts" table
CREATE TABLE "call_counts" ("id" uuid NOT NULL, "workspace_id" uuid NOT NULL, "total" bigint NOT NULL DEFAULT 0, "test" bigint NOT NULL DEFAULT 0, PRIMARY KEY ("id"));
-- create index "callcount_workspace_id" to table: "call_counts"
CREATE UNIQUE INDEX "callcount_workspace_id" ON "call_counts" ("workspace_id");
-- create index "callcount_workspace_id_id" to table: "call_counts"
CREATE UNIQUE INDEX "callcount_workspace_id_id" ON "call_counts" ("workspace_id", "id");
-- create "phone_numbers" table
CREATE TABLE "phone_numbers" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "number" character varying NOT NULL, "label" character varying NULL, "agent_id" uuid NULL, "inbound" boolean NOT NULL DEFAULT true, "outbound" boolean NOT NULL DEFAULT true, PRIMARY KEY ("id"));
-- create index "phonenumber_number" to table: "phone_numbers"
CREATE INDEX "phonenumber_number" ON "phone_numbers" ("number");
-- create index "phonenumber_workspace_id_agent_id" to table: "phone_numbers"
CREATE INDEX "phonenumber_workspace_id_agent_id" ON "phone_numbers" ("workspace_id", "agent_id");
-- create index "phonenumber_workspace_id_created_at_id" to table: "phone_numbers"
CREATE INDEX "phonenumber_workspace_id_created_at_id" ON "phone_numbers" ("workspace_id", "created_at", "id");
-- create index "phonenumber_workspace_id_id" to table: "phone_numbers"
CREATE UNIQUE INDEX "phonenumber_workspace_id_id" ON "phone_numbers" ("workspace_id", "id");
-- create index "phonenumber_workspace_id_number" to table: "phone_numbers"
CREATE UNIQUE INDEX "phonenumber_workspace_id_number" ON "phone_numbers" ("workspace_id", "number");
-- create "turns" table
CREATE TABLE "turns" ("id" uuid NOT NULL, "workspace_id" uuid NOT NULL, "call_id" uuid NOT NULL, "seq" bigint NOT NULL, "role" character varying NOT NULL, "content" character varying NOT NULL, "start_ms" bigint NOT NULL, "end_ms" bigint NOT NULL, "interrupted" boolean NOT NULL DEFAULT false, PRIMARY KEY ("id"));
-- create index "turn_workspace_id_call_id_seq" to table: "turns"
CREATE UNIQUE INDEX "turn_workspace_id_call_id_seq" ON "turns" ("workspace_id", "call_id", "seq");
-- create index "turn_workspace_id_id" to table: "turns"
CREATE UNIQUE INDEX "turn_workspace_id_id" ON "turns" ("workspace_id", "id");
-- create "users" table
CREATE TABLE "users" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NULL, "email" character varying NULL, "name" character varying NOT NULL DEFAULT '', "role" character varying NOT NULL DEFAULT 'owner', "password_hash" character varying NULL, PRIMARY KEY ("id"));
-- create index "user_email" to table: "users"
CREATE INDEX "user_email" ON "users" ("email");
-- create index "user_workspace_id_email" to table: "users"
CREATE UNIQUE INDEX "user_workspace_id_email" ON "users" ("workspace_id", "email");
-- create "workspaces" table
CREATE TABLE "workspaces" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "name" character varying NOT NULL, "timezone" character varying NOT NULL DEFAULT 'UTC', "hipaa" boolean NOT NULL DEFAULT false, "plan" jsonb NOT NULL, PRIMARY KEY ("id"));
-- foreign keys, by hand
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "agents" ADD CONSTRAINT "agents_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "calls" ADD CONSTRAINT "calls_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "call_counts" ADD CONSTRAINT "call_counts_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "phone_numbers" ADD CONSTRAINT "phone_numbers_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE CASCADE;
ALTER TABLE "phone_numbers" ADD CONSTRAINT "phone_numbers_agent_same_ws" FOREIGN KEY ("workspace_id", "agent_id") REFERENCES "agents" ("workspace_id", "id");
ALTER TABLE "turns" ADD CONSTRAINT "turns_call_same_ws" FOREIGN KEY ("workspace_id", "call_id") REFERENCES "calls" ("workspace_id", "id") ON DELETE CASCADE;
ALTER TABLE "users" ADD CONSTRAINT "users_workspace_same_ws" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON DELETE SET NULL;
