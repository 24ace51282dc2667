package portal

import (
	"net/http"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// keyList is what the page of API keys shows.
type keyList struct {
	Keys    []*callwrightv1.ApiKey
	People  map[string]string // names by id
	Listed  listed
	Created *callwrightv1.ApiKey // with its secret, this once
	Problem string
	Name    string
	Base    string
}

// scopes are what a key may be allowed, with what that means.
var scopes = []struct{ Name, Text string }{
	{"read", "read everything in the workspace"},
	{"write", "place calls and change agents, contacts and campaigns"},
	{"mcp", "use the tool server for assistants"},
}

// source is where a key came from.
func (l keyList) source(k *callwrightv1.ApiKey) string {
	by := ""
	if name := l.People[k.GetCreatedBy()]; name != "" {
		by = name
	}
	switch k.GetSource() {
	case "pairing":
		if by != "" {
			return "Paired assistant, approved by " + by
		}
		return "Paired assistant"
	case "portal":
		if by != "" {
			return "Made here by " + by
		}
		return "Made here"
	}
	return "Made by a command"
}

func (p *portal) keysPage(v *visit) error { return v.showKeys(http.StatusOK, keyList{}) }

func (v *visit) showKeys(status int, l keyList) error {
	got, err := v.p.keys.ListApiKeys(v.ctx, &callwrightv1.ListApiKeysRequest{Offset: v.offset()})
	if err != nil {
		return err
	}
	l.Keys, l.Listed, l.Base = got.GetData(), listing(got.GetPagination(), len(got.GetData())), v.p.base(v.r)
	if l.People, err = v.people(); err != nil {
		return err
	}
	return v.show(status, keysView(v.page("API keys"), l))
}

// people are the members' names by id: of the first 200, which is who lists are likely to name.
func (v *visit) people() (map[string]string, error) {
	limit := int32(200)
	got, err := v.p.people.ListMembers(v.ctx, &callwrightv1.ListMembersRequest{Limit: &limit})
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, m := range got.GetMembers() {
		names[m.GetId()] = personName(m)
	}
	return names, nil
}

// createKey shows the new key in its answer: it is kept nowhere that a further request could fetch it from.
func (p *portal) createKey(v *visit) error {
	name := v.form("name")
	if len(v.r.PostForm["scope"]) == 0 && v.page("API keys").writes() { // a program that names none gets all; a person ticks what is meant
		return v.showKeys(http.StatusBadRequest, keyList{Problem: "Tick at least one thing that the key may do.", Name: name})
	}
	got, err := p.keys.CreateApiKey(v.ctx, &callwrightv1.CreateApiKeyRequest{Name: name, Scopes: v.r.PostForm["scope"]})
	if f, ok := refusal(err); err != nil && ok {
		return v.showKeys(f.Kind.HTTP(), keyList{Problem: sentence(f), Name: name})
	}
	if err != nil {
		return err
	}
	return v.showKeys(http.StatusCreated, keyList{Created: got.GetData()})
}

func (p *portal) deleteKey(v *visit) error {
	if _, err := p.keys.DeleteApiKey(v.ctx, &callwrightv1.DeleteApiKeyRequest{Id: v.form("id")}); err != nil {
		return err
	}
	return v.done("/keys", "key-deleted")
}
