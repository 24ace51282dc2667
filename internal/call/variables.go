package call

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callwright/callwright/internal/fault"
)

// Bounds of per-call variables (spec: Limits). The object as compact JSON must be under maxVariables bytes.
const (
	maxKeys      = 50
	maxValue     = 1000
	maxVariables = 4096
)

var variableKey = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,62}$`)

// CheckVariables holds per-call variables against the rules of the specification (spec: Calls, POST /call; CONTRACT.md
// §2). A violation is invalid_variables; its message and details.key name the key.
func CheckVariables(vars map[string]string) error {
	if len(vars) > maxKeys {
		return fault.New(fault.Invalid, "invalid_variables", "variables must have at most %d keys, not %d", maxKeys, len(vars))
	}
	size := len("{}") + max(len(vars)-1, 0)
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(vars)) {
		value := vars[key]
		folded := strings.ToLower(key)
		switch other, collides := seen[folded]; {
		case !variableKey.MatchString(key):
			return invalidVariable(key, "must be a letter followed by at most 62 letters, digits or underscores")
		case collides:
			return invalidVariable(key, fmt.Sprintf("collides with %q: keys are alike in upper and lower case", other))
		case !utf8.ValidString(value):
			return invalidVariable(key, "must be valid UTF-8")
		case strings.IndexByte(value, 0) >= 0:
			return invalidVariable(key, "must not contain a NUL character")
		case utf8.RuneCountInString(value) > maxValue:
			return invalidVariable(key, fmt.Sprintf("must have at most %d characters", maxValue))
		}
		seen[folded] = key
		size += quotedLen(key) + len(":") + quotedLen(value)
	}
	if size >= maxVariables {
		return fault.New(fault.Invalid, "invalid_variables", "variables must be under %d bytes as JSON, not %d", maxVariables, size)
	}
	return nil
}

func invalidVariable(key, problem string) error {
	if r := []rune(key); len(r) > 80 {
		key = string(r[:80]) + "…"
	}
	key = strings.ToValidUTF8(key, "\uFFFD")
	return fault.New(fault.Invalid, "invalid_variables", "variables: %q %s", key, problem).With("key", key)
}

// quotedLen is the length of s as a JSON string in which only what must be escaped is: encoding/json would also escape
// what is special to HTML and JavaScript.
func quotedLen(s string) int {
	n := len(`""`) + len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		case c < 0x20:
			n += len(`\u0000`) - 1
		}
	}
	return n
}
