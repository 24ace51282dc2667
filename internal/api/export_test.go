package api

import (
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
)

// What the tests look at from outside.
var (
	ParseID     = parseID
	EncodeAgent = encodeAgent
)

// DecodeAgent is how CreateAgent and UpdateAgent read an agent.
func DecodeAgent(in *callwrightv1.Agent) agent.Settings { return settings.rule(in) }

// Twins pairs two structs; it panics where they do not fit.
func Twins[M, R any](service ...string) { twinsOf[M, R](service...) }
