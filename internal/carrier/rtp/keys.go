package rtp

// Suite is a crypto suite of SDES (RFC 4568 §6.2).
type Suite string

// The suites that are supported, in the order to offer them.
const (
	AES128SHA1Tag80 Suite = "AES_CM_128_HMAC_SHA1_80"
	AES128SHA1Tag32 Suite = "AES_CM_128_HMAC_SHA1_32"
)

// Keys are one direction's master key and salt.
type Keys struct {
	Suite Suite
	// Key is 16 bytes of key and 14 of salt.
	Key [30]byte
}

// NewKeys makes random ones.
func NewKeys(suite Suite) *Keys {
	panic("not yet")
}

// ParseKeys reads suite and key parameters of an a=crypto line: "AES_CM_128_HMAC_SHA1_80" and
// "inline:<base64>|2^31|1:1". ErrKeys for other suites, several keys or an MKI.
func ParseKeys(suite, params string) (*Keys, error) {
	panic("not yet")
}

// Inline is the key parameter of our a=crypto line: "inline:<base64>".
func (k *Keys) Inline() string {
	panic("not yet")
}
