package rest

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

// exchange is one request and its answer. It is the writer that the gateway gets, and it travels in the context.
type exchange struct {
	http.ResponseWriter
	id      string // request id
	address string // stands before paths of this service in answers
	head    bool   // the body is not sent
	status  int    // of success; 0 is 200
	wrote   bool
	// stranger has no credential, or one that nobody has, and asks for what needs one: a service will say so, and what the
	// request holds is not looked at before.
	stranger bool
	open     bool   // the method needs no credential
	served   bool   // a service was asked
	refused  string // error_code of an answer that no service gave
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) WriteHeader(status int) {
	if !x.wrote {
		x.wrote = true
		x.ResponseWriter.WriteHeader(status)
	}
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.WriteHeader(x.status)
	if x.head {
		return len(b), nil
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// requestID is the client's own when it is sane, up to 128 of [A-Za-z0-9._-], else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && len(id) <= 128 && strings.Trim(id, idLetters) == "" {
		return id
	}
	return rand.Text()
}

const idLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
