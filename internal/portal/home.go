package portal

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// overview is what the first page shows.
type overview struct {
	Usage *callwrightv1.GetUsageResponse
	Calls []*callwrightv1.Call
	Total int64
	Names map[string]string // of agents and contacts, by id
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
	if o.Names, o.AgentID, err = v.names(o.Calls); err != nil {
		return err
	}
	return v.show(http.StatusOK, homeView(v.page("Overview"), o))
}

// names are those of the newest 200 agents and of the calls' contacts, by id, and the newest agent's id.
func (v *visit) names(calls []*callwrightv1.Call) (names map[string]string, newest string, err error) {
	limit := int32(200)
	agents, err := v.p.agents.ListAgents(v.ctx, &callwrightv1.ListAgentsRequest{Limit: &limit})
	if err != nil {
		return nil, "", err
	}
	names = map[string]string{}
	for i, a := range agents.GetData() {
		names[a.GetId()] = a.GetName()
		if i == 0 {
			newest = a.GetId()
		}
	}
	var ids []string
	for _, c := range calls {
		if id := c.GetContactId(); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return names, newest, nil
	}
	where, err := json.Marshal(map[string]any{"id": map[string]any{"in": ids}})
	if err != nil {
		return nil, "", err
	}
	contacts, err := v.p.contacts.ListContacts(v.ctx, &callwrightv1.ListContactsRequest{Where: string(where), Take: &limit})
	if err != nil {
		return nil, "", err
	}
	for _, c := range contacts.GetContacts() {
		names[c.GetId()] = strings.TrimSpace(c.GetFirstName() + " " + c.GetLastName())
	}
	return names, newest, nil
}
