package identity

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

const (
	tokenIssuer   = "callwright"
	tokenAudience = "callwright"
	// tokenLeeway is how far the clocks of two processes may be apart.
	tokenLeeway = 30 * time.Second
	// MaxTokenLife is the longest life of a user token: it can not be called back before its end, except by taking the
	// user out of the workspace.
	MaxTokenLife = 90 * 24 * time.Hour
)

// parser refuses what a token can be forged with (RFC 8725): one algorithm, both names, an end, no time in the future,
// no padding bits.
var parser = jwt.NewParser(
	jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
	jwt.WithExpirationRequired(),
	jwt.WithAudience(tokenAudience),
	jwt.WithIssuer(tokenIssuer),
	jwt.WithIssuedAt(),
	jwt.WithLeeway(tokenLeeway),
	jwt.WithStrictDecoding(),
)

// UserToken signs a token of a user. life is more than 0 and at most MaxTokenLife, else validation_failed; an unknown
// user is user_not_found. A user without a workspace gets a token that Authenticate refuses until it has one.
func (i *Identity) UserToken(ctx context.Context, id uuid.UUID, life time.Duration) (string, error) {
	if life <= 0 || life > MaxTokenLife {
		return "", fault.Invalidf("the life of a user token must be more than 0 and at most %d days", MaxTokenLife/24/time.Hour)
	}
	known, err := i.db.Ent().User.Query().Where(user.ID(id)).Exist(store.System(ctx))
	if err != nil {
		return "", err
	}
	if !known {
		return "", fault.Missing("user")
	}
	return i.sign(id, life)
}

var errNoKey = errors.New("no master key: user tokens are off")

func (i *Identity) sign(id uuid.UUID, life time.Duration) (string, error) {
	if i.signer == nil {
		return "", errNoKey
	}
	now := store.Now()
	return jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.RegisteredClaims{
		Issuer:    tokenIssuer,
		Audience:  jwt.ClaimStrings{tokenAudience},
		Subject:   id.String(),
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(life)),
	}).SignedString(i.signer)
}

// user resolves a user token to the user's workspace of today and role of today: neither is in the token.
func (i *Identity) user(ctx context.Context, token string) (Principal, error) {
	id, err := i.subject(token)
	if err != nil {
		return Principal{}, errUnauthorized.Wrap(err)
	}
	row, err := i.db.Ent().User.Query().Where(user.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return Principal{}, errUnauthorized.Wrap(errors.New("no such user"))
	}
	if err != nil {
		return Principal{}, err
	}
	if row.WorkspaceID == nil {
		return Principal{}, errUnauthorized.Wrap(errors.New("user without a workspace"))
	}
	return Principal{WorkspaceID: *row.WorkspaceID, UserID: &row.ID, Role: row.Role}, nil
}

// subject checks a token and returns whom it is for.
func (i *Identity) subject(token string) (uuid.UUID, error) {
	if i.signer == nil {
		return uuid.Nil, errNoKey
	}
	var claims jwt.RegisteredClaims
	t, err := parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) {
		return i.signer.Public().(ed25519.PublicKey), nil // typed: the bytes can not serve as an HMAC secret
	})
	if err != nil {
		return uuid.Nil, err
	}
	if _, critical := t.Header["crit"]; critical {
		return uuid.Nil, errors.New("critical header that we do not know") // RFC 7515 §4.1.11; the library ignores it
	}
	if claims.IssuedAt == nil {
		return uuid.Nil, errors.New("no iat")
	}
	id, err := uuid.Parse(claims.Subject)
	if err != nil || id.String() != claims.Subject {
		return uuid.Nil, fmt.Errorf("sub is not a user id")
	}
	return id, nil
}
