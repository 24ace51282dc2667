package rtp

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

// Suite is a crypto suite of SDES (RFC 4568 §6.2).
type Suite string

// The suites that are supported, in the order to offer them.
const (
	AES128SHA1Tag80 Suite = "AES_CM_128_HMAC_SHA1_80"
	AES128SHA1Tag32 Suite = "AES_CM_128_HMAC_SHA1_32"
)

// Keys are one direction's master key and salt. They are not printed.
type Keys struct {
	Suite Suite
	// Key is 16 bytes of key and 14 of salt.
	Key [30]byte
}

// NewKeys makes random ones.
func NewKeys(suite Suite) *Keys {
	k := &Keys{Suite: suite}
	_, _ = rand.Read(k.Key[:]) // never fails
	return k
}

// ParseKeys reads suite and key parameters of an a=crypto line: "AES_CM_128_HMAC_SHA1_80" and
// "inline:<base64>|2^31". ErrKeys for other suites, several keys or an MKI that would stand in every packet.
func ParseKeys(suite, params string) (*Keys, error) {
	k := &Keys{Suite: Suite(suite)}
	if k.Suite != AES128SHA1Tag80 && k.Suite != AES128SHA1Tag32 {
		return nil, fmt.Errorf("%w: suite %q", ErrKeys, suite)
	}
	inline, ok := strings.CutPrefix(params, "inline:")
	if !ok || strings.Contains(inline, ";") {
		return nil, fmt.Errorf("%w: not one inline key", ErrKeys)
	}
	key, rest, _ := strings.Cut(inline, "|")
	if strings.Contains(rest, ":") {
		return nil, fmt.Errorf("%w: with an MKI", ErrKeys)
	}
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(key)
	}
	if err != nil || len(raw) != len(k.Key) {
		return nil, fmt.Errorf("%w: not 30 bytes of base64", ErrKeys)
	}
	copy(k.Key[:], raw)
	return k, nil
}

// Inline is the key parameter of our a=crypto line: "inline:<base64>".
func (k *Keys) Inline() string {
	return "inline:" + base64.StdEncoding.EncodeToString(k.Key[:])
}

// Equal reports whether both are the same, or both nil.
func (k *Keys) Equal(other *Keys) bool {
	if k == nil || other == nil {
		return k == other
	}
	return k.Suite == other.Suite && subtle.ConstantTimeCompare(k.Key[:], other.Key[:]) == 1
}

// String keeps the key out of messages, GoString and LogValue too.
func (k *Keys) String() string { return string(k.Suite) }

// GoString is String.
func (k *Keys) GoString() string { return k.String() }

// LogValue is String.
func (k *Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }
