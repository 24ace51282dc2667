package main

import (
	"cmp"

	"github.com/callwright/callwright/internal/agentbuilder"
)

// builds takes jobs of the agent builder.
func (h *house) builds() agentbuilder.Builds { return agentbuilder.Builds{DB: h.db, Egress: h.egress} }

// newBuilder does them. Websites see who reads them, and where to ask about it.
func (h *house) newBuilder(model agentbuilder.Model) *agentbuilder.Worker {
	about := cmp.Or(h.serving.publicURL(), "https://github.com/callwright/callwright")
	return agentbuilder.NewWorker(agentbuilder.Config{
		DB: h.db, Egress: h.egress, Model: model, UserAgent: "Callwright/" + programVersion() + " (+" + about + ")", Log: h.log,
	})
}
