package egress

import (
	"net/http"
	"strings"

	"github.com/callwright/callwright/internal/fault"
)

// framing are the headers by which HTTP finds the ends of messages and connections; no caller sets them.
var framing = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Proxy-Connection": true, "Proxy-Authorization": true, "Proxy-Authenticate": true, "Te": true, "Trailer": true,
	"Upgrade": true, "Expect": true,
}

// ValidHeader checks a header that a user configures. The fault's message starts with the field. Reserved are the headers
// of the framing and Content-Type (CONTRACT.md §2 Webhook); the value is never repeated, it may be a secret.
func ValidHeader(field, name, value string) error {
	if len(name) > 128 || len(value) > 4096 {
		return fault.Invalidf("%s: a header's name has at most 128 characters and its value 4096", field)
	}
	if flaw := headerFlaw(name, value); flaw != "" {
		return fault.Invalidf("%s: %s", field, flaw)
	}
	canonical := http.CanonicalHeaderKey(name)
	if framing[canonical] || canonical == "Content-Type" || strings.HasPrefix(canonical, "Proxy-") {
		return fault.Invalidf("%s: %s is set by Callwright and can not be configured", field, canonical)
	}
	return nil
}

// headerFlaw says what keeps a name and value from being a header at all (RFC 9110 §5.1, §5.5), or "".
func headerFlaw(name, value string) string {
	if name == "" {
		return "a header needs a name"
	}
	for i := range len(name) {
		if !tokenChar(name[i]) {
			return "a header's name may hold letters, digits and !#$%&'*+-.^_`|~ only"
		}
	}
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return "the value of " + http.CanonicalHeaderKey(name) + " holds a line break or another control character"
		}
	}
	return ""
}

func tokenChar(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}
