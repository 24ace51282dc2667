package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/secret"
)

// OpenID is a provider that vouches for people, so that they sign in without a password of ours (OpenID Connect Core 1.0,
// authorization code flow with PKCE).
type OpenID struct {
	// Issuer is the provider's address, as it stands in its tokens. Empty turns all of this off.
	Issuer string
	// ClientID and ClientSecret are what the provider knows this installation by.
	ClientID, ClientSecret string
	// RedirectURL is where the provider sends people back to.
	RedirectURL string
	// Name is what the provider is called on the sign-in page. Defaults to its host.
	Name string
	// Domains are the ends of addresses that may sign in, such as example.com. Defaults to all that the provider verified.
	Domains []string
	// Client asks the provider: an address that whoever runs the installation has set, not one that a user gave. Defaults to
	// one with a deadline and a limit on answers.
	Client *http.Client
}

const (
	// attemptLife is how long a person may take at the provider, ticketLife how long for choosing a workspace.
	attemptLife = 10 * time.Minute
	ticketLife  = 5 * time.Minute

	providerTimeout = 4 * time.Second
	providerAnswer  = 1 << 20 // bytes
)

var (
	errNoOpenID = fault.New(fault.NotFound, "openid_not_found", "signing in with a provider is not set up here")
	// errOpenID is the one answer to whatever is wrong with a way back from the provider; the cause is in the log.
	errOpenID = fault.New(fault.Invalid, "openid_failed", "the sign-in could not be completed: please try again")
	// oneUse lets each attempt be finished once, over all processes.
	oneUse = []bound{{n: 1, span: 2 * attemptLife, by: byActor}}
	// signers are the signatures that tokens may have: none that is made with a shared secret.
	signers = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}
)

// openID is a provider and what is known of it so far.
type openID struct {
	OpenID
	mu       sync.Mutex
	provider *oidc.Provider // nil until it has answered once
}

func newOpenID(c OpenID) *openID {
	if c.Issuer == "" {
		return nil
	}
	if c.Name == "" {
		c.Name = strings.TrimPrefix(strings.TrimPrefix(c.Issuer, "https://"), "http://")
		c.Name, _, _ = strings.Cut(c.Name, "/")
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: providerTimeout, Transport: bounded{http.DefaultTransport}}
	}
	return &openID{OpenID: c}
}

// bounded limits what is read of an answer.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, providerAnswer)
	}
	return resp, err
}

// ask learns where the provider is reached and its keys. A provider that is away is asked again the next time.
func (o *openID) ask() (*oidc.Provider, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		// The provider keeps this context for fetching keys later: it must not be that of a request.
		p, err := oidc.NewProvider(oidc.ClientContext(context.Background(), o.Client), o.Issuer)
		if err != nil {
			return nil, err
		}
		o.provider = p
	}
	return o.provider, nil
}

func (o *openID) oauth(p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: o.RedirectURL, Endpoint: p.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// attempt is what a person's browser keeps while they are at the provider, sealed.
type attempt struct {
	State, Nonce, Verifier string
	Until                  time.Time
}

// vouched is a person as the provider knows them. While they choose a workspace, their browser keeps it sealed.
type vouched struct {
	Subject, Email, Name string
	Until                time.Time
}

// sealFor and openFor keep a value in a browser that can neither read nor change it.
func (i *Identity) sealFor(column string, value any) (string, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(i.sealer.Seal(raw, secret.Place{Table: "openid", Column: column})), nil
}

func (i *Identity) openFor(column, sealed string, value any) error {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return err
	}
	if raw, err = i.sealer.Open(raw, secret.Place{Table: "openid", Column: column}); err != nil {
		return err
	}
	return json.Unmarshal(raw, value)
}

// OpenIDName is what the provider is called; empty without one.
func (i *Identity) OpenIDName() string {
	if i.openID == nil {
		return ""
	}
	return i.openID.Name
}

// BeginOpenID gives the address at the provider where a person signs in, and what their browser has to keep until they
// come back. Without a provider it is openid_not_found, with one that is away unavailable.
func (i *Identity) BeginOpenID(ctx context.Context) (address, kept string, err error) {
	if i.openID == nil {
		return "", "", errNoOpenID
	}
	p, err := i.openID.ask()
	if err != nil {
		return "", "", i.away(ctx, err)
	}
	a := attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Until: i.now().Add(attemptLife)}
	if kept, err = i.sealFor("attempt", a); err != nil {
		return "", "", err
	}
	return i.openID.oauth(p).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), kept, nil
}

func (i *Identity) away(ctx context.Context, err error) error {
	i.log.WarnContext(ctx, "the OpenID provider does not answer", "issuer", i.openID.Issuer, "error", err)
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Message: i.openID.Name + " does not answer", RetryAfter: 5 * time.Second, Err: err}
}

// vouch takes a person who came back from the provider: the state and code of the address they came by, and what their
// browser has kept. Everything that does not fit is openid_failed.
func (i *Identity) vouch(ctx context.Context, kept, state, code string) (vouched, error) {
	if i.openID == nil {
		return vouched{}, errNoOpenID
	}
	v, err := i.exchange(ctx, kept, state, code)
	if err != nil {
		var known *fault.Error
		if errors.As(err, &known) {
			return v, err
		}
		i.log.WarnContext(ctx, "a sign-in by OpenID failed", "error", err)
		return v, errOpenID.Wrap(err)
	}
	return v, i.openID.admits(v.Email)
}

func (i *Identity) exchange(ctx context.Context, kept, state, code string) (vouched, error) {
	var a attempt
	if err := i.openFor("attempt", kept, &a); err != nil {
		return vouched{}, err
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1:
		return vouched{}, errors.New("it was begun in another browser")
	case !i.now().Before(a.Until):
		return vouched{}, errors.New("it was begun too long ago")
	case code == "":
		return vouched{}, errors.New("there is no code")
	}
	if _, err := i.admit(ctx, try{kind: "openid", actor: account(a.State)}, oneUse); err != nil {
		if fault.Is(err, "rate_limited") {
			return vouched{}, errors.New("it was finished before")
		}
		return vouched{}, err
	}
	p, err := i.openID.ask()
	if err != nil {
		return vouched{}, i.away(ctx, err)
	}
	token, err := i.openID.oauth(p).Exchange(oidc.ClientContext(ctx, i.openID.Client), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return vouched{}, fmt.Errorf("exchange the code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.Verifier(&oidc.Config{ClientID: i.openID.ClientID, SupportedSigningAlgs: signers, Now: i.now}).Verify(ctx, raw)
	if err != nil {
		return vouched{}, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1 {
		return vouched{}, errors.New("the token is of another sign-in")
	}
	return claimsOf(id)
}

// claimsOf are those of a token's claims that count. An address that the provider has not verified is somebody's word.
func claimsOf(id *oidc.IDToken) (vouched, error) {
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers write "true"
		Name     string `json:"name"`
	}
	if err := id.Claims(&claims); err != nil {
		return vouched{}, err
	}
	if claims.Verified != true && claims.Verified != "true" {
		return vouched{}, fault.New(fault.Denied, "email_not_verified", "your provider has not verified your email address")
	}
	email, err := address(claims.Email)
	if err != nil || email == nil || id.Subject == "" || len(id.Subject) > 255 {
		return vouched{}, errors.New("the token names nobody")
	}
	name, err := text("name", claims.Name, 0, 128)
	if err != nil {
		name = ""
	}
	return vouched{Subject: id.Subject, Email: *email, Name: name}, nil
}

// admits refuses addresses of other domains than those that may sign in.
func (o *openID) admits(email string) error {
	_, domain, _ := strings.Cut(email, "@")
	if len(o.Domains) == 0 || slices.ContainsFunc(o.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
		return nil
	}
	return fault.New(fault.Denied, "domain_not_allowed", "people of %s do not sign in here", domain)
}
