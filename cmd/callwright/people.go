package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/identity"
)

// joining is how people and assistants come in.
type joining struct {
	SignUp             string        `group:"People" default:"invite" enum:"invite,open" placeholder:"WHO" help:"Who may sign up: invite, only people with an invite; open, everybody, each with a workspace of their own. Default: ${default}."`
	PairingLifetime    time.Duration `group:"People" default:"15m" placeholder:"TIME" help:"How long the code of a pairing works. Default: ${default}."`
	PairingStartLimit  int           `group:"People" default:"10" placeholder:"N" help:"Pairings that a client address may start in 10 minutes; 0: no limit. Default: ${default}."`
	OIDCIssuer         string        `group:"People" name:"oidc-issuer" placeholder:"URL" help:"OpenID provider that people may sign in with, such as https://accounts.google.com; needs --public-url. It sends people back to /sign-in/openid/done. Default: none."`
	OIDCClientID       string        `group:"People" name:"oidc-client-id" placeholder:"ID" help:"What the provider knows this installation by."`
	OIDCClientSecret   string        `group:"People" name:"oidc-client-secret" placeholder:"SECRET" help:"Its secret there."`
	OIDCName           string        `group:"People" name:"oidc-name" placeholder:"NAME" help:"What the sign-in page calls the provider. Default: its host."`
	OIDCAllowedDomains []string      `group:"People" name:"oidc-allowed-domains" placeholder:"DOMAIN" help:"Ends of addresses that may sign in with it, such as example.com; comma-separated. Default: all."`
}

func (j joining) validate() error {
	switch {
	case j.PairingLifetime < time.Second:
		return errorf("--pairing-lifetime must be a second or more")
	case j.PairingStartLimit < 0:
		return errorf("--pairing-start-limit must be 0 or more")
	case j.OIDCIssuer != "" && j.OIDCClientID == "":
		return errorf("--oidc-issuer needs --oidc-client-id")
	}
	if j.OIDCIssuer == "" {
		return nil
	}
	if u, err := url.Parse(j.OIDCIssuer); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errorf("--oidc-issuer must look like https://accounts.google.com")
	}
	return nil
}

// openID is the provider that people may sign in with.
func (j joining) openID(public string) identity.OpenID {
	return identity.OpenID{
		Issuer: j.OIDCIssuer, ClientID: j.OIDCClientID, ClientSecret: j.OIDCClientSecret, Name: j.OIDCName,
		Domains: j.OIDCAllowedDomains, RedirectURL: public + "/sign-in/openid/done",
	}
}

// newIdentity is the identity of a server: that of the commands, with the settings of who comes in.
func (g *ground) newIdentity(to serving) *identity.Identity {
	return identity.New(identity.Config{
		DB:              g.db,
		Key:             g.key,
		PublicURL:       to.publicURL(),
		SignUpOpen:      to.SignUp == "open",
		PairingLifetime: to.PairingLifetime,
		PairingStarts:   to.PairingStartLimit,
		OpenID:          to.openID(to.publicURL()),
		Log:             g.log,
	})
}

// setUpURL is the link that makes the first owner, of the given workspace or of a new one; empty once somebody can sign
// in. It works once and for 30 minutes.
func (h *house) setUpURL(ctx context.Context, workspace *uuid.UUID) (string, error) {
	token, err := h.identity.SetUpLink(ctx, workspace)
	if err != nil || token == "" {
		return "", err
	}
	return h.facts().HTTPURL + "/set-up#" + token, nil
}

type userReset struct {
	User      string `arg:"" help:"Id or email address of the user."`
	PublicURL string `placeholder:"URL" default:"http://127.0.0.1:8080" help:"Address of the portal, for the link. Default: ${default}."`
	JSON      bool   `env:"-" name:"json" help:"Print one JSON object."`
	storage
}

func (userReset) Help() string {
	return "The link works once, for 30 minutes; hand it to the person by a way you trust. An older link of theirs stops " +
		"working. The new password ends all their sessions."
}

func (c *userReset) Run(ctx context.Context, t *terminal) error {
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	id, err := g.userID(ctx, c.User)
	if err != nil {
		return err
	}
	token, err := g.identity.ResetLink(ctx, id)
	if err != nil {
		return err
	}
	link := strings.TrimRight(c.PublicURL, "/") + "/reset#" + token
	if c.JSON {
		return t.json(map[string]string{"user_id": id.String(), "reset_url": link})
	}
	t.table("User", id.String(), "Link", link+"   works once, for 30 minutes")
	return nil
}

// userID reads an id, or finds the user with an address.
func (g *ground) userID(ctx context.Context, text string) (uuid.UUID, error) {
	if id, err := uuid.Parse(text); err == nil {
		return id, nil
	}
	if !strings.Contains(text, "@") {
		return uuid.Nil, errorf("%q is neither the id nor the email address of a user", text)
	}
	users, err := g.identity.UserByEmail(ctx, text)
	switch {
	case err != nil:
		return uuid.Nil, err
	case len(users) == 0:
		return uuid.Nil, errorf("no user has the address %s", text)
	case len(users) > 1:
		ids := make([]string, len(users))
		for i, u := range users {
			ids[i] = u.ID.String()
		}
		return uuid.Nil, errorf("%s is in several workspaces: give the id of the user, one of %s", text, strings.Join(ids, ", "))
	}
	return users[0].ID, nil
}
