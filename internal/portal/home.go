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

// used is how much of a window is used, in percent from 0 to 100; what is used shows.
func used(w *callwrightv1.UsageWindow) int {
	switch {
	case w.GetUsed() <= 0:
		return 0
	case w.GetUsed() >= w.GetLimit():
		return 100
	}
	return max(2, int(100*w.GetUsed()/w.GetLimit()))
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

// names are those of the newest 200 agents by id and of the calls' other parties by number, and the newest agent's id.
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
	return names, newest, v.contactNames(calls, names)
}

// contactNames adds the contacts of calls: by id where a call says whose it is, else by a number that one contact has.
func (v *visit) contactNames(calls []*callwrightv1.Call, names map[string]string) error {
	var ids, numbers []string
	for _, c := range calls {
		if id := c.GetContactId(); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if n := party(c); n != "" && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	filters := []any{map[string]any{"phone": map[string]any{"in": numbers}}}
	if len(ids) > 0 {
		filters = append(filters, map[string]any{"id": map[string]any{"in": ids}})
	}
	where, err := json.Marshal(map[string]any{"OR": filters})
	if err != nil {
		return err
	}
	limit := int32(200)
	found, err := v.p.contacts.ListContacts(v.ctx, &callwrightv1.ListContactsRequest{Where: string(where), Take: &limit})
	if err != nil {
		return err
	}
	shared := map[string]int{}
	for _, c := range found.GetContacts() {
		name := strings.TrimSpace(c.GetFirstName() + " " + c.GetLastName())
		names[c.GetId()] = name
		names[c.GetPhone()] = name
		if shared[c.GetPhone()]++; shared[c.GetPhone()] > 1 {
			names[c.GetPhone()] = "" // whoever of them it was
		}
	}
	return nil
}
