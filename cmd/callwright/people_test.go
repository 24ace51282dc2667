package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// decide is what an owner does on the verification page.
func (w *tenant) decide(t *testing.T, code string, approve bool) error {
	owner := identity.Principal{WorkspaceID: w.id, UserID: &w.founded.Owner.ID, Role: identity.RoleOwner}
	_, err := w.house.identity.DecidePairing(identity.WithPrincipal(w.ctx(t), owner), code, approve)
	return err
}

const horse = "correct horse battery"

// A canary in every prefill and password is in no log line and in no row, whatever becomes of the request.
func TestPrefillsAndPasswordsAreKeptNowhere(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		w := h.found(t, "acme")
		const bird = "CANARYCANARY"
		s := &surface{t: t, name: "REST", house: h, tenant: w, vars: map[string]any{}}
		for _, body := range []string{
			`{"client_name":"Claude","prefill":{"email":"` + bird + `@example.com","first_name":"` + bird + `","last_name":"` + bird + `","name":"` + bird + `","phone":"` + bird + `"}}`,
			`{"prefill":["` + bird + `",{"` + bird + `":"\u0000` + bird + `"}]}`,
			`{"client_name":"` + strings.Repeat("x", 65) + `","prefill":"` + bird + `"}`,
			`{"prefill":{"email":"` + bird,
		} {
			s.overREST(apiStep{Send: "POST /v1/agent/onboarding/start", As: "none", Body: body})
		}
		people := callwrightv1.NewPeopleServiceClient(h.conn)
		ctx := t.Context()
		_, err := people.SignIn(ctx, &callwrightv1.SignInRequest{Email: "nobody@example.com", Password: bird + " wrong"})
		require.Error(t, err)
		token, err := h.identity.SetUpLink(ctx, &w.id)
		require.NoError(t, err)
		_, err = people.SetUp(ctx, &callwrightv1.SetUpRequest{Token: token, Email: "not an address", Password: bird + " set-up"})
		require.Error(t, err)
		in, err := people.SetUp(ctx, &callwrightv1.SetUpRequest{Token: token, Email: "ana@example.com", Password: bird + " set-up"})
		require.NoError(t, err)
		_, err = people.SignIn(ctx, &callwrightv1.SignInRequest{Email: "ana@example.com", Password: bird + " wrong"})
		require.Error(t, err)
		me := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+in.GetSignedIn().GetSessionToken())
		_, err = people.ChangePassword(me, &callwrightv1.ChangePasswordRequest{CurrentPassword: bird + " wrong", NewPassword: bird + " other"})
		require.Error(t, err)
		changed, err := people.ChangePassword(me, &callwrightv1.ChangePasswordRequest{CurrentPassword: bird + " set-up", NewPassword: bird + " other"})
		require.NoError(t, err)

		secrets := []string{bird, token, in.GetSignedIn().GetSessionToken(), changed.GetSignedIn().GetSessionToken()}
		require.Contains(t, h.log.String(), "StartPairing", "the log is looked at")
		dump := dump(t, db)
		require.Contains(t, dump, "ana@example.com", "the rows are looked at")
		for _, secret := range secrets {
			require.NotContains(t, h.log.String(), secret)
			require.NotContains(t, dump, secret)
		}
	})
}

// dump is everything in the database: all fields of all rows, hidden ones too, and on SQLite the bytes of the files.
func dump(t *testing.T, db *store.DB) string {
	t.Helper()
	var out bytes.Buffer
	ctx := reflect.ValueOf(store.System(t.Context()))
	client := reflect.ValueOf(db.Ent()).Elem()
	for i := range client.NumField() {
		query := client.Field(i).MethodByName("Query")
		if !client.Type().Field(i).IsExported() || !query.IsValid() {
			continue
		}
		rows := query.Call(nil)[0].MethodByName("All").Call([]reflect.Value{ctx})[0]
		for j := range rows.Len() {
			row := rows.Index(j).Elem()
			for k := range row.NumField() {
				if row.Type().Field(k).IsExported() {
					f := reflect.Indirect(row.Field(k))
					if f.IsValid() && f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Uint8 {
						out.Write(f.Bytes())
					} else if f.IsValid() {
						fmt.Fprintf(&out, "%v\n", f.Interface())
					}
				}
			}
		}
	}
	return out.String()
}

// An assistant without an account gets its key by way of a person's approval, over both surfaces; the person is known by
// a session.
func TestAnAssistantPairs(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		w := h.found(t, "acme")
		token, err := h.identity.SetUpLink(t.Context(), &w.id)
		require.NoError(t, err)
		people := callwrightv1.NewPeopleServiceClient(h.conn)
		in, err := people.SetUp(t.Context(), &callwrightv1.SetUpRequest{Token: token, Email: "ana@example.com", Password: horse, Name: "Ana"})
		require.NoError(t, err)
		me := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+in.GetSignedIn().GetSessionToken())
		who, err := people.WhoAmI(me, &callwrightv1.WhoAmIRequest{})
		require.NoError(t, err)
		require.Equal(t, "owner", who.GetPerson().GetRole())
		require.Equal(t, "acme", who.GetPerson().GetWorkspaceName())

		pairings := callwrightv1.NewPairingServiceClient(h.conn)
		p, err := pairings.StartPairing(t.Context(), &callwrightv1.StartPairingRequest{ClientName: "Claude"})
		require.NoError(t, err)
		asked, err := pairings.LookUpPairing(me, &callwrightv1.LookUpPairingRequest{UserCode: strings.ToLower(p.GetUserCode())})
		require.NoError(t, err)
		require.Equal(t, "Claude", asked.GetPairing().GetClientName())
		require.Regexp(t, regexp.MustCompile(`^(127\.0\.0\.1|::/64)$`), asked.GetPairing().GetClientAddress())
		_, err = pairings.DecidePairing(me, &callwrightv1.DecidePairingRequest{UserCode: p.GetUserCode(), Approve: true})
		require.NoError(t, err)
		done, err := pairings.PollPairing(t.Context(), &callwrightv1.PollPairingRequest{DeviceCode: p.GetDeviceCode()})
		require.NoError(t, err)
		key := "Bearer " + done.GetApiKey()
		_, err = callwrightv1.NewAgentServiceClient(h.conn).ListAgents(
			metadata.AppendToOutgoingContext(t.Context(), "authorization", key), &callwrightv1.ListAgentsRequest{})
		require.NoError(t, err)
		s := &surface{t: t, name: "REST", house: h, tenant: w, vars: map[string]any{}}
		r := s.overREST(apiStep{Send: "GET /v1/agents", As: "none", Headers: map[string]string{"Authorization": key}})
		require.Equal(t, "200", r.answer, "%s", show(r.body))

		keys, err := callwrightv1.NewApiKeyServiceClient(h.conn).ListApiKeys(me, &callwrightv1.ListApiKeysRequest{})
		require.NoError(t, err)
		require.Equal(t, []string{"Claude", "pairing"}, []string{keys.GetData()[0].GetName(), keys.GetData()[0].GetSource()})
		require.Empty(t, keys.GetData()[0].GetSecret())
		audit, err := people.ListAudit(me, &callwrightv1.ListAuditRequest{})
		require.NoError(t, err)
		require.Equal(t, "pairing_claimed", audit.GetEntries()[0].GetAction())
		require.Equal(t, "ana@example.com", audit.GetEntries()[1].GetActor())

		_, err = people.SignOutEverywhere(me, &callwrightv1.SignOutEverywhereRequest{})
		require.NoError(t, err)
		_, err = people.WhoAmI(me, &callwrightv1.WhoAmIRequest{})
		require.ErrorContains(t, err, "a valid API key or user token is needed")
	})
}

// Nobody says over the network, by metadata or by header, that he comes from another address.
func TestTheClientAddressCanNotBeForged(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		w := h.found(t, "acme")
		forged := metadata.AppendToOutgoingContext(t.Context(), "client-address", "203.0.113.66", "x-forwarded-for", "203.0.113.66")
		_, err := callwrightv1.NewPairingServiceClient(h.conn).StartPairing(forged, &callwrightv1.StartPairingRequest{}, grpc.WaitForReady(true))
		require.NoError(t, err)
		s := &surface{t: t, name: "REST", house: h, tenant: w, vars: map[string]any{}}
		r := s.overREST(apiStep{Send: "POST /v1/agent/onboarding/start", As: "none", Headers: map[string]string{
			"X-Forwarded-For": "203.0.113.66", "Client-Address": "203.0.113.66", "Grpc-Metadata-Client-Address": "203.0.113.66",
		}})
		require.Equal(t, "201", r.answer)
		rows := db.Ent().Pairing.Query().AllX(store.System(t.Context()))
		require.Len(t, rows, 2)
		for _, row := range rows {
			require.Equal(t, "127.0.0.1", row.Address)
		}
	})
}

func TestCommandsResetPasswordsAndPrintTheSetUpLink(t *testing.T) {
	installations(t, func(t *testing.T, in installation) {
		out := in.run(t, "workspace", "create", "--name", "Harbor", "--owner-email", "ana@example.com", "--json")
		require.Contains(t, out, "owner_id")
		out = in.run(t, "user", "reset-password", "Ana@example.com", "--public-url", "https://calls.example.com/", "--json")
		link := regexp.MustCompile(`"reset_url":"https://calls\.example\.com/reset#(cwl_[0-9A-Za-z]{49})"`).FindStringSubmatch(out)
		require.NotNil(t, link, out)
		id := in.identity(t)
		s, err := id.ResetPassword(t.Context(), link[1], horse)
		require.NoError(t, err)
		require.Equal(t, "owner", s.User.Role)
		require.Contains(t, in.refused(t, "user", "reset-password", "li@example.com"), "no user has the address")
	})
}

// The file of SQLite holds no canary either, not even in what it has deleted.
func TestNoFileHoldsAPassword(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	in := installation{dir, []string{"--data-dir", dir}}
	in.run(t, "workspace", "create", "--name", "Harbor", "--owner-email", "ana@example.com", "--json")
	out := in.run(t, "user", "reset-password", "ana@example.com", "--json")
	token := regexp.MustCompile(`cwl_[0-9A-Za-z]{49}`).FindString(out)
	_, err := in.identity(t).ResetPassword(t.Context(), token, "CANARYCANARY battery")
	require.NoError(t, err)
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		require.NotContains(t, string(text), "CANARYCANARY", path)
		require.NotContains(t, string(text), token, path)
		return err
	}))
	require.Positive(t, files)
}
