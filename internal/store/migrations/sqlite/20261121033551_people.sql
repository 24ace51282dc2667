-- +goose Up
-- the foreign keys named _same_ws are written by hand
CREATE UNIQUE INDEX `user_workspace_id_id` ON `users` (`workspace_id`, `id`);
CREATE TABLE `audit_entries` (`id` uuid NOT NULL, `workspace_id` uuid NOT NULL, `created_at` datetime NOT NULL, `action` text NOT NULL, `user_id` uuid NULL, `actor` text NOT NULL DEFAULT (''), `subject` text NOT NULL DEFAULT (''), `detail` text NOT NULL DEFAULT (''), `address` text NOT NULL DEFAULT (''), PRIMARY KEY (`id`), CONSTRAINT `audit_entries_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
CREATE UNIQUE INDEX `auditentry_workspace_id_id` ON `audit_entries` (`workspace_id`, `id`);
CREATE INDEX `auditentry_workspace_id_created_at_id` ON `audit_entries` (`workspace_id`, `created_at`, `id`);
CREATE TABLE `links` (`id` uuid NOT NULL, `kind` text NOT NULL, `hash` blob NOT NULL, `workspace_id` uuid NULL, `user_id` uuid NULL, `email` text NOT NULL DEFAULT (''), `role` text NOT NULL DEFAULT (''), `created_by` uuid NULL, `created_at` datetime NOT NULL, `expires_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `links_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE, CONSTRAINT `links_user_same_ws` FOREIGN KEY (`workspace_id`, `user_id`) REFERENCES `users` (`workspace_id`, `id`) ON DELETE CASCADE);
CREATE UNIQUE INDEX `links_hash_key` ON `links` (`hash`);
CREATE INDEX `link_workspace_id_kind_created_at` ON `links` (`workspace_id`, `kind`, `created_at`);
CREATE INDEX `link_expires_at` ON `links` (`expires_at`);
CREATE TABLE `pairings` (`id` uuid NOT NULL, `device_hash` blob NOT NULL, `user_code` text NOT NULL, `client_name` text NOT NULL, `address` text NOT NULL, `created_at` datetime NOT NULL, `expires_at` datetime NOT NULL, `state` text NOT NULL DEFAULT ('pending'), `interval` integer NOT NULL, `polled_at` datetime NULL, `workspace_id` uuid NULL, `decided_by` uuid NULL, `key_id` uuid NULL, `claimed_at` datetime NULL, PRIMARY KEY (`id`), CONSTRAINT `pairings_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE);
CREATE UNIQUE INDEX `pairings_device_hash_key` ON `pairings` (`device_hash`);
CREATE UNIQUE INDEX `pairings_user_code_key` ON `pairings` (`user_code`);
CREATE INDEX `pairing_expires_at` ON `pairings` (`expires_at`);
CREATE TABLE `sessions` (`id` uuid NOT NULL, `workspace_id` uuid NOT NULL, `user_id` uuid NOT NULL, `hash` blob NOT NULL, `created_at` datetime NOT NULL, `used_at` datetime NOT NULL, `expires_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `sessions_workspace_same_ws` FOREIGN KEY (`workspace_id`) REFERENCES `workspaces` (`id`) ON DELETE CASCADE, CONSTRAINT `sessions_user_same_ws` FOREIGN KEY (`workspace_id`, `user_id`) REFERENCES `users` (`workspace_id`, `id`) ON DELETE CASCADE);
CREATE UNIQUE INDEX `sessions_hash_key` ON `sessions` (`hash`);
CREATE UNIQUE INDEX `session_workspace_id_id` ON `sessions` (`workspace_id`, `id`);
CREATE INDEX `session_user_id` ON `sessions` (`user_id`);
CREATE INDEX `session_expires_at` ON `sessions` (`expires_at`);
CREATE TABLE `tallies` (`id` uuid NOT NULL, `kind` text NOT NULL, `actor` text NOT NULL, `address` text NOT NULL, `at` datetime NOT NULL, PRIMARY KEY (`id`));
CREATE INDEX `tally_kind_actor_at` ON `tallies` (`kind`, `actor`, `at`);
CREATE INDEX `tally_kind_address_at` ON `tallies` (`kind`, `address`, `at`);
CREATE INDEX `tally_at` ON `tallies` (`at`);
