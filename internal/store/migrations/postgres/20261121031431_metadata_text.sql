-- +goose Up
ALTER TABLE "calls" ALTER COLUMN "metadata" TYPE json;
