package server

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// Caller is who stands behind a credential.
type Caller struct {
	// WorkspaceID, KeyID and UserID are for the log and the throttle; empty where there is none.
	WorkspaceID, KeyID, UserID string
	// IsUser says that the credential is a person's token.
	IsUser bool
	// Allows says whether the credential allows a scope: read, write, mcp or admin. Nil allows none.
	Allows func(scope string) bool
}

var (
	errNoCredential = fault.New(fault.Unauthenticated, "unauthorized", "a bearer token is needed")
	errNotOpen      = fault.New(fault.Denied, "forbidden", "this method is not open to anybody")
	errUserOnly     = fault.New(fault.Denied, "forbidden", "this needs a user token")
)

// authenticate lets a call pass that its method's auth option allows. A method without the option is refused, so that
// forgetting it can not open anything.
func authenticate(check func(context.Context, string) (context.Context, Caller, error)) around {
	rules := authRules()
	return func(ctx context.Context, c *rpc) error {
		if exempt(c.method) {
			return c.next(ctx)
		}
		rule, ok := rules[c.method]
		switch {
		case !ok || check == nil && !rule.public:
			return errNotOpen
		case rule.public:
			return c.next(ctx)
		}
		token, ok := bearer(ctx)
		if !ok {
			return errNoCredential
		}
		ctx, caller, err := check(ctx, token)
		if err != nil {
			return err
		}
		c.caller = caller
		if rule.userOnly && !caller.IsUser {
			return errUserOnly
		}
		if caller.Allows == nil || !caller.Allows(rule.scope) {
			return fault.New(fault.Denied, "forbidden", "this credential does not allow %s", rule.scope)
		}
		return c.next(ctx)
	}
}

// exempt methods are answered to everybody: probes, and the schema where reflection is on (else it is not registered).
func exempt(method string) bool {
	return strings.HasPrefix(method, "/grpc.health.v1.Health/") || strings.HasPrefix(method, "/grpc.reflection.")
}

// bearer reads the one bearer token of a call. The scheme's name may be in any case (RFC 9110 §11.1).
func bearer(ctx context.Context) (string, bool) {
	sent := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(sent) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "bearer") && token != ""
}

// Caller names who a bearer token belongs to, for the throttle of REST: the key, else the user.
func (s *Server) Caller(ctx context.Context, token string) (string, error) {
	if s.c.Authenticate == nil {
		return "", errNotOpen
	}
	_, c, err := s.c.Authenticate(ctx, token)
	switch {
	case err != nil:
		return "", err
	case c.KeyID != "":
		return "key " + c.KeyID, nil
	case c.UserID != "":
		return "user " + c.UserID, nil
	}
	return "", errNoCredential
}

type authRule struct {
	public, userOnly bool
	scope            string
}

// authRules reads the auth options of callwright.v1 by full method name.
func authRules() map[string]authRule {
	rules := map[string]authRule{}
	protoregistry.GlobalFiles.RangeFilesByPackage("callwright.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				auth, _ := proto.GetExtension(m.Options(), callwrightv1.E_Auth).(*callwrightv1.Auth)
				if auth.GetPublic() || auth.GetScope() != callwrightv1.Scope_SCOPE_UNSPECIFIED {
					rules["/"+string(s.FullName())+"/"+string(m.Name())] = authRule{
						public: auth.GetPublic(), userOnly: auth.GetUserOnly(), scope: scopeText(auth.GetScope())}
				}
			}
		}
		return true
	})
	return rules
}

// scopeText is a scope as keys and roles name it.
func scopeText(s callwrightv1.Scope) string {
	v := s.Descriptor().Values().ByNumber(s.Number())
	text, _ := proto.GetExtension(v.Options(), callwrightv1.E_Text).(string)
	return text
}
