package portal

import (
	"net/http"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// overview is what the first page shows.
type overview struct {
	Usage  *callwrightv1.GetUsageResponse
	Calls  []*callwrightv1.Call
	Total  int64
	Agents map[string]string // names by id
	// AgentID is one to call with.
	AgentID string
	Base    string
}

func (p *portal) home(v *visit) error {
	o := overview{Base: p.base(v.r)}
	var err error
	if o.Usage, err = p.usage.GetUsage(v.ctx, &callwrightv1.GetUsageRequest{}); err != nil {
		return err
	}
	take := int32(5)
	got, err := p.calls.ListCalls(v.ctx, &callwrightv1.ListCallsRequest{Take: &take})
	if err != nil {
		return err
	}
	o.Calls, o.Total = got.GetCalls(), int64(got.GetTotalRecords())
	if o.Agents, o.AgentID, err = v.agentNames(); err != nil {
		return err
	}
	return v.show(http.StatusOK, homeView(v.page("Overview"), o))
}

// agentNames are the names of the newest 200 agents by id, and the newest one's id.
func (v *visit) agentNames() (names map[string]string, newest string, err error) {
	limit := int32(200)
	got, err := v.p.agents.ListAgents(v.ctx, &callwrightv1.ListAgentsRequest{Limit: &limit})
	if err != nil {
		return nil, "", err
	}
	names = map[string]string{}
	for i, a := range got.GetData() {
		names[a.GetId()] = a.GetName()
		if i == 0 {
			newest = a.GetId()
		}
	}
	return names, newest, nil
}
