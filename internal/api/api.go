// Package api serves callwright.v1: each method reads its request, makes one call into a rule package and writes the
// answer.
//
// The workspace of a request is in its context already; rules see nothing of protobuf, and this package nothing of
// queries, transactions, stored states and status codes. Ids are parsed here, so that a malformed one is refused before
// any look-up (CONTRACT.md §1, Foreign ids); the bounds of all other fields belong to the rules.
package api

import (
	"google.golang.org/grpc"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// Config is what the services stand on.
type Config struct {
	DB *store.DB
	// Identity knows people and keys.
	Identity *identity.Identity
	// Recordings is where the sound of calls is kept.
	Recordings *call.Recordings
	// Line is where calls leave by.
	Line call.Line
	// Actions keeps what agents' calls set off.
	Actions agent.Actions
	// Builds makes agents from websites.
	Builds agentbuilder.Builds
}

// Register adds all services of callwright.v1.
func Register(r grpc.ServiceRegistrar, c Config) {
	r = replaying{r, c.DB}
	callwrightv1.RegisterCallServiceServer(r, &calls{db: c.DB, line: c.Line, recordings: c.Recordings})
	callwrightv1.RegisterAgentServiceServer(r, &agents{db: c.DB})
	callwrightv1.RegisterPhoneNumberServiceServer(r, &phoneNumbers{db: c.DB})
	callwrightv1.RegisterActionServiceServer(r, &actions{rules: c.Actions})
	callwrightv1.RegisterAgentBuilderServiceServer(r, &agentBuilds{rules: c.Builds})
	callwrightv1.RegisterCallTagServiceServer(r, &callTags{db: c.DB})
	callwrightv1.RegisterContactServiceServer(r, &contacts{db: c.DB})
	callwrightv1.RegisterCustomFieldServiceServer(r, &customFields{db: c.DB})
	callwrightv1.RegisterDoNotCallServiceServer(r, &doNotCall{db: c.DB})
	callwrightv1.RegisterCampaignServiceServer(r, &campaigns{db: c.DB})
	callwrightv1.RegisterUsageServiceServer(r, &usage{db: c.DB})
	callwrightv1.RegisterWebhookServiceServer(r, &webhooks{db: c.DB})
	callwrightv1.RegisterAssistantServiceServer(r, &assistants{db: c.DB})
	callwrightv1.RegisterPairingServiceServer(r, &pairings{identity: c.Identity})
	callwrightv1.RegisterApiKeyServiceServer(r, &apiKeys{db: c.DB, identity: c.Identity})
	callwrightv1.RegisterWorkspaceServiceServer(r, &workspaces{db: c.DB, identity: c.Identity})
	callwrightv1.RegisterPeopleServiceServer(r, &people{db: c.DB, identity: c.Identity})
}
