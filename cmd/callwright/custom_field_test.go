package main_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is stored on a contact is said in every call with that contact: in a single call to the number the newest contact
// that has it counts, in a campaign's call the one that is enrolled. spec: Contact, custom_fields; Campaign enrollment.
func TestCustomFieldsAreSpokenInEveryCallWithTheContact(t *testing.T) {
	dir := t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, "--sandbox-speed", "50", "--rate-limit", "0")
	send := func(method, path, body string) map[string]any {
		t.Helper()
		status, text := f.do(t, method, f.APIURL+path, body)
		require.Less(t, status, 300, string(text))
		var answer struct{ Data map[string]any }
		require.NoError(t, json.Unmarshal(text, &answer))
		return answer.Data
	}
	id := func(data map[string]any) string { return data["id"].(string) }
	send("POST", "/custom-fields", `{"key":"city","type":"text"}`)
	agent := id(send("POST", "/agents", `{"name":"Nora","welcome_msg":"Greetings to [{{custom.city}}] [{{var.order}}]."}`))
	const number = "+15551230042"
	older := id(send("POST", "/contact", `{"phone":"`+number+`","custom_fields":{"city":"Bonn"}}`))
	newer := id(send("POST", "/contact", `{"phone":"`+number+`","custom_fields":{"city":"Basel"}}`))

	hears := func(call, want string) {
		t.Helper()
		require.Contains(t, f.ended(t, call)["transcript"], "Greetings to "+want)
	}
	single := func(to string) string {
		return send("POST", "/call", `{"to":"`+to+`","agent_id":"`+agent+`","variables":{"order":7}}`)["call_id"].(string)
	}
	hears(single(number), "[Basel] [7].")
	hears(single("+15551230043"), "[] [7].")
	send("PUT", "/contact/"+newer, `{"custom_fields":{"city":null}}`)
	hears(single(number), "[] [7].")

	// The campaign calls the older contact, twice: variables and values go into both steps.
	campaign := id(send("POST", "/campaigns", `{"name":"Cities","agent_id":"`+agent+`","steps":[{"type":"call"},{"type":"call"}],
		"schedule":{"from":"00:00","to":"24:00","timezone":"UTC"}}`))
	send("POST", "/campaigns/"+campaign+"/start", "")
	send("POST", "/campaign/"+campaign+"/contact", `{"contact_ids":["`+older+`"],"contacts":[{"phone":"+15551230044","custom_fields":{"city":"Ulm"},"variables":{"order":"8"}}]}`)
	wait(t, func() bool { return send("GET", "/campaigns/"+campaign, "")["status"] == "completed" })
	status, text := f.do(t, "GET", f.APIURL+fmt.Sprintf(`/call?where={"campaign_id":%q}`, campaign), "")
	require.Equal(t, 200, status)
	var page struct{ Calls []struct{ ID, To string } }
	require.NoError(t, json.Unmarshal(text, &page))
	require.Len(t, page.Calls, 4)
	for _, c := range page.Calls {
		hears(c.ID, map[string]string{number: "[Bonn] [].", "+15551230044": "[Ulm] [8]."}[c.To])
	}
}
