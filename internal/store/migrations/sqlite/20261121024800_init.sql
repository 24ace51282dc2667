-- +goose Up
-- the foreign keys named _same_ws are written by hand
-- create "api_keys" table
CREATE TABLE `api_keys` (`id` uuid NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `workspace_id` uuid NOT NULL, `name` text NOT NULL DEFAULT (''), `hash` blob NOT NULL, `hint` text NOT NULL, `scopes` json NOT NULL, `source` text NOT NULL DEFAULT ('command'), `created_by` uuid NULL, `last_used_at` datetime NULL, PRIMARY KEY (`id`), CONSTRAINT `api_keys_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
-- create index "api_keys_hash_key" to table: "api_keys"
CREATE UNIQUE INDEX `api_keys_hash_key` ON `api_keys` (`hash`);
-- create index "apikey_workspace_id_id" to table: "api_keys"
CREATE UNIQUE INDEX `apikey_workspace_id_id` ON `api_keys` (`workspace_id`, `id`);
-- create index "apikey_workspace_id_created_at" to table: "api_keys"
CREATE INDEX `apikey_workspace_id_created_at` ON `api_keys` (`workspace_id`, `created_at`);
-- create "agents" table
CREATE TABLE `agents` (`id` uuid NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `workspace_id` uuid NOT NULL, `name` text NOT NULL, `name_fold` text NOT NULL, `status` text NOT NULL DEFAULT ('active'), `modality` text NOT NULL DEFAULT ('voice'), `language` text NOT NULL DEFAULT ('en'), `settings` json NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `agents_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
-- create index "agent_workspace_id_id" to table: "agents"
CREATE UNIQUE INDEX `agent_workspace_id_id` ON `agents` (`workspace_id`, `id`);
-- create index "agent_workspace_id_created_at_id" to table: "agents"
CREATE INDEX `agent_workspace_id_created_at_id` ON `agents` (`workspace_id`, `created_at`, `id`);
-- create index "agent_workspace_id_name_id" to table: "agents"
CREATE INDEX `agent_workspace_id_name_id` ON `agents` (`workspace_id`, `name`, `id`);
-- create "calls" table
CREATE TABLE `calls` (`id` uuid NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `workspace_id` uuid NOT NULL, `direction` text NOT NULL, `status` text NOT NULL, `to_number` text NOT NULL, `from_number` text NOT NULL, `agent_id` uuid NULL, `contact_id` uuid NULL, `campaign_id` uuid NULL, `test` bool NOT NULL DEFAULT (false), `duration` integer NULL, `metadata` json NOT NULL, `variables` json NULL, `answered_by` text NULL, `ended_reason` text NULL, `ended_message` text NULL, `retry_after` datetime NULL, `schedule_time` datetime NULL, `dialed_at` datetime NULL, `answered_at` datetime NULL, `ended_at` datetime NULL, `in_flight` bool NOT NULL DEFAULT (false), `lease_owner` text NOT NULL DEFAULT (''), `lease_until` datetime NULL, `cancel_requested` bool NOT NULL DEFAULT (false), `leg` json NULL, `recording_key` text NULL, `recording_size` integer NULL, `recorded_at` datetime NULL, `latency` json NULL, PRIMARY KEY (`id`), CONSTRAINT `calls_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
-- create index "call_workspace_id_id" to table: "calls"
CREATE UNIQUE INDEX `call_workspace_id_id` ON `calls` (`workspace_id`, `id`);
-- create index "call_workspace_id_created_at_id" to table: "calls"
CREATE INDEX `call_workspace_id_created_at_id` ON `calls` (`workspace_id`, `created_at`, `id`);
-- create index "call_workspace_id_status_created_at" to table: "calls"
CREATE INDEX `call_workspace_id_status_created_at` ON `calls` (`workspace_id`, `status`, `created_at`);
-- create index "call_workspace_id_agent_id_created_at" to table: "calls"
CREATE INDEX `call_workspace_id_agent_id_created_at` ON `calls` (`workspace_id`, `agent_id`, `created_at`);
-- create index "call_workspace_id_to_number_created_at" to table: "calls"
CREATE INDEX `call_workspace_id_to_number_created_at` ON `calls` (`workspace_id`, `to_number`, `created_at`);
-- create index "call_lease_until" to table: "calls"
CREATE INDEX `call_lease_until` ON `calls` (`lease_until`) WHERE in_flight;
-- create index "call_in_flight" to table: "calls"
CREATE INDEX `call_in_flight` ON `calls` (`workspace_id`, `lease_until`) WHERE in_flight;
-- create index "call_queued" to table: "calls"
CREATE INDEX `call_queued` ON `calls` (`workspace_id`, `created_at`) WHERE status = 'queued';
-- create "call_counts" table
CREATE TABLE `call_counts` (`id` uuid NOT NULL, `workspace_id` uuid NOT NULL, `total` integer NOT NULL DEFAULT (0), `test` integer NOT NULL DEFAULT (0), PRIMARY KEY (`id`), CONSTRAINT `call_counts_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
-- create index "callcount_workspace_id_id" to table: "call_counts"
CREATE UNIQUE INDEX `callcount_workspace_id_id` ON `call_counts` (`workspace_id`, `id`);
-- create index "callcount_workspace_id" to table: "call_counts"
CREATE UNIQUE INDEX `callcount_workspace_id` ON `call_counts` (`workspace_id`);
-- create "phone_numbers" table
CREATE TABLE `phone_numbers` (`id` uuid NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `workspace_id` uuid NOT NULL, `number` text NOT NULL, `label` text NULL, `agent_id` uuid NULL, `inbound` bool NOT NULL DEFAULT (true), `outbound` bool NOT NULL DEFAULT (true), PRIMARY KEY (`id`), CONSTRAINT `phone_numbers_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE, CONSTRAINT `phone_numbers_agent_same_ws` FOREIGN KEY (`workspace_id`, `agent_id`) REFERENCES `agents` (`workspace_id`, `id`));
-- create index "phonenumber_workspace_id_id" to table: "phone_numbers"
CREATE UNIQUE INDEX `phonenumber_workspace_id_id` ON `phone_numbers` (`workspace_id`, `id`);
-- create index "phonenumber_workspace_id_number" to table: "phone_numbers"
CREATE UNIQUE INDEX `phonenumber_workspace_id_number` ON `phone_numbers` (`workspace_id`, `number`);
-- create index "phonenumber_number" to table: "phone_numbers"
CREATE INDEX `phonenumber_number` ON `phone_numbers` (`number`);
-- create index "phonenumber_workspace_id_agent_id" to table: "phone_numbers"
CREATE INDEX `phonenumber_workspace_id_agent_id` ON `phone_numbers` (`workspace_id`, `agent_id`);
-- create index "phonenumber_workspace_id_created_at_id" to table: "phone_numbers"
CREATE INDEX `phonenumber_workspace_id_created_at_id` ON `phone_numbers` (`workspace_id`, `created_at`, `id`);
-- create "turns" table
CREATE TABLE `turns` (`id` uuid NOT NULL, `workspace_id` uuid NOT NULL, `call_id` uuid NOT NULL, `seq` integer NOT NULL, `role` text NOT NULL, `content` text NOT NULL, `start_ms` integer NOT NULL, `end_ms` integer NOT NULL, `interrupted` bool NOT NULL DEFAULT (false), PRIMARY KEY (`id`), CONSTRAINT `turns_call_same_ws` FOREIGN KEY (`workspace_id`, `call_id`) REFERENCES `calls` (`workspace_id`, `id`) ON DELETE CASCADE);
-- create index "turn_workspace_id_id" to table: "turns"
CREATE UNIQUE INDEX `turn_workspace_id_id` ON `turns` (`workspace_id`, `id`);
-- create index "turn_workspace_id_call_id_seq" to table: "turns"
CREATE UNIQUE INDEX `turn_workspace_id_call_id_seq` ON `turns` (`workspace_id`, `call_id`, `seq`);
-- create "users" table
CREATE TABLE `users` (`id` uuid NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `workspace_id` uuid NULL, `email` text NULL, `name` text NOT NULL DEFAULT (''), `role` text NOT NULL DEFAULT ('owner'), `password_hash` text NULL, PRIMARY KEY (`id`), CONSTRAINT `users_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE SET NULL);
-- create index "user_workspace_id_email" to table: "users"
CREATE UNIQUE INDEX `user_workspace_id_email` ON `users` (`workspace_id`, `email`);
-- create index "user_email" to table: "users"
CREATE INDEX `user_email` ON `users` (`email`);
-- create "workspaces" table
CREATE TABLE `workspaces` (`id` uuid NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `name` text NOT NULL, `timezone` text NOT NULL DEFAULT ('UTC'), `hipaa` bool NOT NULL DEFAULT (false), `plan` json NOT NULL, PRIMARY KEY (`id`));
