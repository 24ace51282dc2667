-- +goose Up
DROP INDEX `call_workspace_id_created_at_id`;
DROP INDEX `call_workspace_id_to_number_created_at`;
CREATE INDEX `call_find` ON `calls` (`workspace_id`, `created_at`, `id`, `test`, `status`, `direction`, `answered_by`, `duration`, `from_number`, `agent_id`, `campaign_id`);
CREATE INDEX `call_contact` ON `calls` (`workspace_id`, `contact_id`, `created_at`, `id`) WHERE contact_id IS NOT NULL;
CREATE INDEX `call_workspace_id_to_number_created_at_id` ON `calls` (`workspace_id`, `to_number`, `created_at`, `id`);
CREATE INDEX `call_agent_usage` ON `calls` (`workspace_id`, `agent_id`, `queued_at`);
-- the foreign keys named _same_ws are written by hand
CREATE TABLE `call_spans` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `workspace_id` uuid NOT NULL, `length` integer NOT NULL, `start` datetime NOT NULL, `calls` integer NOT NULL, `seconds` integer NOT NULL, CONSTRAINT `call_spans_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
CREATE UNIQUE INDEX `callspan_workspace_id_id` ON `call_spans` (`workspace_id`, `id`);
CREATE UNIQUE INDEX `callspan_workspace_id_length_start` ON `call_spans` (`workspace_id`, `length`, `start`);
