// Package ent is the typed access to the tables, generated from ent/schema. Only ent/schema is written by hand.
package ent

//go:generate go run -mod=mod entc.go
