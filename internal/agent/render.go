package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reference is {{var.KEY}} or {{custom.key}}. Whatever else stands in braces is not ours and stays.
var reference = regexp.MustCompile(`\{\{\s*(var|custom)\.([A-Za-z][A-Za-z0-9_]{0,62})\s*\}\}`)

// Render fills in the references of a prompt or greeting: {{var.KEY}} with the call's variables, {{custom.key}} with
// the contact's custom fields (spec: Calls, POST /call; Contact, custom_fields). Keys are alike in upper and lower case,
// a missing value renders empty, and values are put in as they are: what looks like a reference in one stays text.
func Render(text string, vars map[string]string, custom map[string]any) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	byKey := make(map[string]string, len(vars)+len(custom))
	for k, v := range vars {
		byKey["var."+strings.ToLower(k)] = v
	}
	for k, v := range custom {
		byKey["custom."+strings.ToLower(k)] = printed(v)
	}
	return reference.ReplaceAllStringFunc(text, func(match string) string {
		return byKey[keyOf(reference.FindStringSubmatch(match))]
	})
}

// References lists what a text refers to, as var.key and custom.key in lower case, sorted, each once.
func References(text string) []string {
	var found []string
	for _, match := range reference.FindAllStringSubmatch(text, -1) {
		found = append(found, keyOf(match))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func keyOf(match []string) string { return match[1] + "." + strings.ToLower(match[2]) }

// printed is a custom field's value as it is spoken of: numbers without exponent, true and false, lists with commas.
func printed(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		if math.Abs(v) > 1e300 || math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		if !strings.ContainsAny(v.String(), "eE") {
			return v.String()
		}
		f, err := v.Float64()
		if err != nil {
			return ""
		}
		return printed(f)
	case int, int32, int64:
		return fmt.Sprint(v)
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = printed(part)
		}
		return strings.Join(parts, ", ")
	case []string:
		return strings.Join(v, ", ")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
