package main_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// apiCase is one sentence of the specification or the contract as requests and wanted answers. It runs in two fresh
// workspaces, once over REST and once over gRPC, on each database; both must answer alike.
type apiCase struct {
	Case string `yaml:"case"`
	// Each runs the case once for every set of variables, For once for every combination of its variables' values.
	Each  []map[string]any `yaml:"each"`
	For   map[string][]any `yaml:"for"`
	Steps []apiStep        `yaml:"steps"`
}

// apiStep sends one request, or does to the records what a call engine would do. Texts anywhere in it may hold <name>
// (a variable, set by each, save or the runner), <text 20> (20 letters) and the other words of expand.
type apiStep struct {
	// Send is the request line: POST /v1/call.
	Send    string            `yaml:"send"`
	As      string            `yaml:"as"` // key (default), token, none or another credential of the runner
	Headers map[string]string `yaml:"headers"`
	// Body is a tree that is sent as JSON, or a text that is sent as it is.
	Body any `yaml:"body"`
	// Message replaces the gRPC request's fields where REST has another way to say them.
	Message map[string]any `yaml:"message"`
	// RestOnly says why gRPC can not send this.
	RestOnly string `yaml:"rest_only"`
	// OwnWords says why the two surfaces refuse it with a message and details of their own; all else is equal.
	OwnWords string `yaml:"own_words"`
	// GRPCOnly says why REST can not send this.
	GRPCOnly string `yaml:"grpc_only"`

	// Answer is the HTTP status and the gRPC code: 404 NotFound. With rest_only the status alone.
	Answer string `yaml:"answer"`
	// Want is the part of the body that matters. See match.
	Want        any               `yaml:"want"`
	WantHeaders map[string]string `yaml:"want_headers"`
	// Save names parts of the answer: {call: data.call_id}.
	Save map[string]string `yaml:"save"`

	// Do is a deed of the call engine or of an operator, with its arguments: finish <call> completed.
	Do string `yaml:"do"`
}

// with is the step with its variables put in.
func (s apiStep) with(vars map[string]any) apiStep {
	for _, text := range []*string{&s.Send, &s.As, &s.Answer, &s.Do} {
		*text = fmt.Sprint(expand(*text, vars))
	}
	s.Body = expand(s.Body, vars)
	s.Want = expand(s.Want, vars)
	if s.Message != nil {
		s.Message = expand(s.Message, vars).(map[string]any)
	}
	for _, texts := range []*map[string]string{&s.Headers, &s.WantHeaders} {
		put := map[string]string{}
		for k, v := range *texts {
			put[k] = fmt.Sprint(expand(v, vars))
		}
		*texts = put
	}
	return s
}

// apiFiles reads testdata/api, one file per subject.
func apiFiles(t *testing.T) map[string][]apiCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/api/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	files := map[string][]apiCase{}
	for _, path := range paths {
		text, err := os.Open(path)
		require.NoError(t, err)
		d := yaml.NewDecoder(text)
		d.KnownFields(true)
		var cases []apiCase
		require.NoError(t, d.Decode(&cases), path)
		require.NoError(t, text.Close())
		files[strings.TrimSuffix(filepath.Base(path), ".yaml")] = cases
	}
	return files
}

var (
	word = regexp.MustCompile(`<([a-z_]+)(?: ([^<>]*))?>`)
	// inWord is a variable inside of a word: <has $field>.
	inWord = regexp.MustCompile(`\$[a-z]+`)
)

// expand puts variables and generated texts into a tree. A text that is one word and nothing else takes the word's type.
func expand(v any, vars map[string]any) any {
	switch v := v.(type) {
	case string:
		v = inWord.ReplaceAllStringFunc(v, func(s string) string {
			if value, ok := vars[s[1:]]; ok {
				return fmt.Sprint(value)
			}
			return s
		})
		if m := word.FindStringSubmatch(v); m != nil && m[0] == v {
			if value, ok := wordValue(m[1], m[2], vars); ok {
				return value
			}
			return v
		}
		return word.ReplaceAllStringFunc(v, func(s string) string {
			m := word.FindStringSubmatch(s)
			if value, ok := wordValue(m[1], m[2], vars); ok {
				return fmt.Sprint(value)
			}
			return s
		})
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[expand(k, vars).(string)] = expand(item, vars)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = expand(item, vars)
		}
		return out
	}
	return v
}

func wordValue(name, arg string, vars map[string]any) (any, bool) {
	if value, ok := vars[name]; ok && arg == "" {
		return value, true
	}
	if made, ok := madeWords[name]; ok {
		n, _ := strconv.Atoi(arg)
		return made(n), true
	}
	switch name {
	case "random":
		return uuid.NewString(), true
	case "upper":
		text, ok := vars[arg].(string)
		return strings.ToUpper(text), ok
	case "bytes":
		b, err := hex.DecodeString(arg)
		return string(b), err == nil
	case "later": // a time after the one in the variable
		text, ok := vars[arg].(string)
		return "<after " + text + ">", ok
	}
	return nil, false
}

// madeWords are the words that make something of a length.
var madeWords = map[string]func(n int) any{
	"text":    func(n int) any { return strings.Repeat("x", n) },
	"letters": func(n int) any { return strings.Repeat("é", n) }, // two bytes each: length is counted in code points
	"emoji":   func(n int) any { return strings.Repeat("🙂", n) },
	"digits":  func(n int) any { return strings.Repeat("1", n) },
	"items":   func(n int) any { return slices.Repeat([]any{"x"}, n) },
	"tags":    func(n int) any { return slices.Repeat([]any{"en", "de", "fr"}, n)[:n] },
	"keys": func(n int) any { // an object of n members
		members := map[string]any{}
		for i := range n {
			members[fmt.Sprintf("k%d", i)] = "v"
		}
		return members
	},
	"list":   func(n int) any { return strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") },
	"leaves": func(n int) any { return strings.TrimSuffix(strings.Repeat(`{"to":"x"},`, n), ",") },
}

// match reports where have is not what want asks for: an object may have more members than wanted, everything else is
// equal. <uuid>, <time> and <any> stand for any such value, <absent> for no member, <has x> for a text that contains x,
// <json x> for x to the letter.
func match(path string, want, have any) error {
	switch want := want.(type) {
	case map[string]any:
		members, ok := have.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %s, want an object", path, show(have))
		}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			value, there := members[k]
			if want[k] == "<absent>" {
				if there {
					return fmt.Errorf("%s.%s is %s, want none", path, k, show(value))
				}
				continue
			}
			if !there {
				return fmt.Errorf("%s.%s is missing in %s", path, k, show(have))
			}
			if err := match(path+"."+k, want[k], value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		items, ok := have.([]any)
		if !ok || len(items) != len(want) {
			return fmt.Errorf("%s is %s, want a list of %d", path, show(have), len(want))
		}
		for i := range want {
			if err := match(fmt.Sprintf("%s[%d]", path, i), want[i], items[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if ok, known := matchWord(want, have); known {
			if !ok {
				return fmt.Errorf("%s is %s, want %s", path, show(have), want)
			}
			return nil
		}
	}
	if !sameScalar(want, have) {
		return fmt.Errorf("%s is %s, want %s", path, show(have), show(want))
	}
	return nil
}

var (
	uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	// RFC 3339 UTC with a Z and milliseconds (CONTRACT.md §1, Time).
	timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

func matchWord(want string, have any) (ok, known bool) {
	text, isText := have.(string)
	switch {
	case want == "<any>":
		return true, true
	case want == "<uuid>":
		return isText && uuidForm.MatchString(text), true
	case want == "<time>":
		return isText && timeForm.MatchString(text), true
	case strings.HasPrefix(want, "<has "):
		return isText && strings.Contains(text, strings.TrimSuffix(want[5:], ">")), true
	case strings.HasPrefix(want, "<after "):
		return isText && timeForm.MatchString(text) && text > strings.TrimSuffix(want[7:], ">"), true
	case strings.HasPrefix(want, "<json "):
		number, isNumber := have.(json.Number)
		return isNumber && string(number) == strings.TrimSuffix(want[6:], ">"), true
	}
	return false, false
}

func sameScalar(want, have any) bool {
	if number, ok := have.(json.Number); ok {
		f, err := number.Float64()
		switch want := want.(type) {
		case int:
			return err == nil && f == float64(want)
		case float64:
			return err == nil && f == want
		}
		return false
	}
	return want == have
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 400 {
		return string(text[:400]) + "…"
	}
	return string(text)
}

// pick follows a path like data.call_id or calls.0.id.
func pick(v any, path string) (any, error) {
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, fmt.Errorf("no %s in %s", path, show(v))
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(at) {
				return nil, fmt.Errorf("no %s in %s", path, show(v))
			}
			v = at[i]
		default:
			return nil, fmt.Errorf("no %s in %s", path, show(v))
		}
	}
	return v, nil
}

var uuidAnywhere = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

// secretAnywhere are keys, codes of devices and codes of users, which are random.
var secretAnywhere = regexp.MustCompile(`cw_live_[0-9A-Za-z]{49}|^[0-9A-Za-z_-]{43}$|\b[2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4}\b`)

// alike makes the answers of two workspaces comparable: each id becomes its number in the order of first appearance,
// each time and the workspace's own telephone number a word.
type alike struct {
	ids map[string]string
	own string
}

func (a alike) of(v any) any {
	switch v := v.(type) {
	case string:
		if timeForm.MatchString(v) {
			return "<time>"
		}
		v = timeAnywhere.ReplaceAllString(v, "<some time>")
		if a.own != "" {
			v = strings.ReplaceAll(v, a.own, "<own number>")
		}
		v = uuidAnywhere.ReplaceAllStringFunc(v, func(id string) string {
			key := strings.ToLower(id)
			if _, ok := a.ids[key]; !ok {
				a.ids[key] = fmt.Sprintf("<id %d>", len(a.ids)+1)
			}
			return a.ids[key]
		})
		return secretAnywhere.ReplaceAllString(v, "<secret>") // last: a piece of an id can look like a code
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if out[k] = a.of(v[k]); k == "hint" { // the end of a secret
				out[k] = "<secret>"
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = a.of(item)
		}
		return out
	}
	return v
}
