//go:build pins

// Package internal pins the dependencies that the design has chosen and that no code imports yet, so that all versions
// are resolved together once. A line goes when its package comes into use.
package internal

import (
	_ "ariga.io/atlas/sql/sqltool"
	_ "entgo.io/ent"
	_ "entgo.io/ent/entc"
	_ "github.com/alecthomas/kong"
	_ "github.com/alexedwards/argon2id"
	_ "github.com/anishathalye/porcupine"
	_ "github.com/fullstorydev/grpchan/inprocgrpc"
	_ "github.com/gocolly/colly/v2"
	_ "github.com/golang-jwt/jwt/v5"
	_ "github.com/google/uuid"
	_ "github.com/gosimple/slug"
	_ "github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lmittmann/tint"
	_ "github.com/mark3labs/mcp-go/server"
	_ "github.com/pressly/goose/v3"
	_ "github.com/pressly/goose/v3/lock"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/riverqueue/river"
	_ "github.com/riverqueue/river/riverdriver/riverpgxv5"
	_ "github.com/riverqueue/river/riverdriver/riversqlite"
	_ "github.com/riverqueue/river/rivermigrate"
	_ "github.com/stretchr/testify/require"
	_ "go.opentelemetry.io/contrib/exporters/autoexport"
	_ "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "google.golang.org/grpc"
	_ "google.golang.org/grpc/health"
	_ "google.golang.org/grpc/reflection"
	_ "google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
