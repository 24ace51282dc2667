# Everything is a make target; .ci/run calls these and nothing else. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
TOOL  := go tool -modfile=internal/tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# What generators write. ent/schema is the hand-written part of ent.
GENERATED := gen ent ':!ent/schema' ':(glob)internal/**/*_templ.go'

.PHONY: help generate verify breaking lint test test-race run bench build migration

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Start Callwright with everything embedded and print the first call to make
	go run ./cmd/callwright dev

test: ## Run all tests, on SQLite and (when its binaries are installed) on PostgreSQL
	go test -timeout 20m ./...

test-race: ## The same under the race detector
	go test -race -timeout 30m ./...

bench: ## Measure: start-up time and memory of the program, calls at once, hot paths
	go test -run '^$$' -bench . -benchmem -timeout 30m ./...

build: ## Build bin/callwright, static and reproducible
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -buildid= -X main.version=$(VERSION)' -o bin/callwright ./cmd/callwright

generate: ## Regenerate gen/ from proto/, ent/ from ent/schema, and the pages from their templates
	$(TOOL) buf generate
	cd ent && go run -mod=mod entc.go
	@if git ls-files '*.templ' | grep -q .; then go tool templ generate -include-version=false; fi

migration: ## Write the migrations to the current schema: make migration name=add_tags
	go run ./internal/store/newmigration $(name)

verify: generate breaking ## Check that generated code, protos, modules and migrations are what they should be
	@git diff --exit-code -- $(GENERATED)
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { git status --short -- $(GENERATED); echo 'generated files are not committed'; exit 1; }
	$(TOOL) buf lint
	go mod tidy -diff
	go test -count=1 -run Drift ./internal/store/...
	go vet ./...

# The protos of the main branch, if there is one and it has any, must stay readable to its clients.
breaking:
	@base=$$(for r in origin/main main; do git cat-file -e "$$r:buf.yaml" 2>/dev/null && echo "$$r" && break; done || true); \
	if [ -z "$$base" ]; then echo 'buf breaking: no main branch to compare with'; exit 0; fi; \
	old=$$(mktemp -d) && trap 'rm -rf "$$old"' EXIT && git archive "$$base" proto buf.yaml | tar -x -C "$$old" && \
	echo "buf breaking against $$base" && $(TOOL) buf breaking --against "$$old"

lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	$(TOOL) staticcheck ./...
