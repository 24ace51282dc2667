package rest

import (
	"net/http"
	"net/url"

	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// The codec alone, for message types that no service has.

// Encode is m as an answer's body under the rest option o.
func Encode(o *callwrightv1.Rest, m proto.Message, address string) ([]byte, int, error) {
	s := status(o, m)
	r := &reply{message: m, address: address}
	if !o.GetBare() {
		r.status = s
	}
	b, err := r.json()
	return b, s, err
}

// Decode reads a body into m.
func Decode(body string, m proto.Message) error {
	if err := check([]byte(body)); err != nil {
		return err
	}
	if f := decode([]byte(body), m.ProtoReflect()); f != nil {
		return f
	}
	return nil
}

// DecodeQuery reads a raw query into m.
func DecodeQuery(raw string, m proto.Message) error {
	return queryParser{}.Parse(m, url.Values{rawQuery: {raw}}, utilities.NewDoubleArray(nil))
}

// Callers is how many callers and tokens the throttle remembers.
func Callers(h http.Handler) (n int) {
	t := h.(*handler).throttle
	for i := range t.shards {
		n += len(t.shards[i].owners)
	}
	return n + t.log.Callers()
}
