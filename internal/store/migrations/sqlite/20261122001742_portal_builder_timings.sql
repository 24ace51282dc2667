-- +goose Up
ALTER TABLE `calls` ADD COLUMN `answered_by_reason` text NULL;
ALTER TABLE `calls` ADD COLUMN `recording_consent` text NULL;
ALTER TABLE `turns` ADD COLUMN `timing` json NULL;
ALTER TABLE `users` ADD COLUMN `oidc_issuer` text NULL;
ALTER TABLE `users` ADD COLUMN `oidc_subject` text NULL;
CREATE UNIQUE INDEX `user_oidc_issuer_oidc_subject` ON `users` (`oidc_issuer`, `oidc_subject`);
-- the foreign keys named _same_ws are written by hand
CREATE TABLE `agent_builds` (`id` uuid NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `workspace_id` uuid NOT NULL, `website_url` text NOT NULL DEFAULT (''), `instructions` text NOT NULL DEFAULT (''), `status` text NOT NULL DEFAULT ('queued'), `step` text NOT NULL DEFAULT (''), `pages_found` integer NOT NULL DEFAULT (0), `pages_read` integer NOT NULL DEFAULT (0), `pages` json NULL, `agent_id` uuid NULL, `writer` text NOT NULL DEFAULT (''), `note` text NOT NULL DEFAULT (''), `error_code` text NOT NULL DEFAULT (''), `error` text NOT NULL DEFAULT (''), `finished_at` datetime NULL, PRIMARY KEY (`id`), CONSTRAINT `agent_builds_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
CREATE UNIQUE INDEX `agentbuild_workspace_id_id` ON `agent_builds` (`workspace_id`, `id`);
CREATE INDEX `agentbuild_workspace_id_created_at_id` ON `agent_builds` (`workspace_id`, `created_at`, `id`);
