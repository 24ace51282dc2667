package agent

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones on machines that have none
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/phone"
)

// A rule checks a value that is there and returns it as it is stored; the error is the end of a sentence that starts with
// the field's name. Rules are made once from the tags of Settings.
type rule func(v reflect.Value) (reflect.Value, error)

// rules are those of Settings, by field.
var rules = func() []rule {
	t := reflect.TypeFor[Settings]()
	all := make([]rule, t.NumField())
	for i := range all {
		all[i] = parseRule(t.Field(i).Tag.Get("rule"))
	}
	return all
}()

// validate checks every field that s has and returns the settings as they are stored: the name trimmed, free texts
// without content taken away.
func (s Settings) validate() (Settings, error) {
	v := reflect.ValueOf(&s).Elem()
	for i, check := range rules {
		f := v.Field(i)
		if check == nil || f.IsNil() {
			continue
		}
		stored, err := check(f)
		if err != nil {
			return s, fault.Invalidf("%s %s", fieldName(v.Type().Field(i)), err)
		}
		f.Set(stored)
	}
	return s, nil
}

func parseRule(tag string) rule {
	kind, arg, _ := strings.Cut(tag, " ")
	n, _ := strconv.Atoi(arg)
	switch kind {
	case "":
		return nil
	case "name":
		return ofText(checkName)
	case "text":
		return freeText(n)
	case "one":
		return ofText(oneOf(strings.Fields(arg)))
	case "range":
		return inRange(arg)
	case "language":
		return ofText(checkLanguage)
	case "zone":
		return ofText(checkZone)
	case "color":
		return ofText(checkColor)
	case "url":
		return ofText(checkURL)
	case "languages":
		return ofTexts(n, checkLanguage)
	case "numbers":
		return ofNumbers(n)
	case "texts":
		return ofTexts(n, func(s string) (string, error) {
			if strings.TrimSpace(s) == "" {
				return "", fmt.Errorf("must not be empty")
			}
			return s, checkText(s, 20_000)
		})
	}
	panic("agent: unknown rule " + tag)
}

func ofText(check func(string) (string, error)) rule {
	return func(v reflect.Value) (reflect.Value, error) {
		s, err := check(v.Elem().String())
		return reflect.ValueOf(&s), err
	}
}

// freeText takes any text; one without a character is no value.
func freeText(limit int) rule {
	return func(v reflect.Value) (reflect.Value, error) {
		s := v.Elem().String()
		if s == "" {
			return reflect.Zero(v.Type()), nil
		}
		return v, checkText(s, limit)
	}
}

func ofTexts(limit int, check func(string) (string, error)) rule {
	return func(v reflect.Value) (reflect.Value, error) {
		if v.Len() > limit {
			return v, fmt.Errorf("must have at most %d entries", limit)
		}
		if v.Len() == 0 {
			return reflect.Zero(v.Type()), nil
		}
		out := make([]string, v.Len())
		for i, s := range v.Interface().([]string) {
			stored, err := check(s)
			if err != nil {
				return v, fmt.Errorf("[%d] %w", i, err)
			}
			out[i] = stored
		}
		return reflect.ValueOf(out), nil
	}
}

// ofNumbers takes E.164 numbers by names.
func ofNumbers(limit int) rule {
	return func(v reflect.Value) (reflect.Value, error) {
		if v.Len() > limit {
			return v, fmt.Errorf("must have at most %d entries", limit)
		}
		if v.Len() == 0 {
			return reflect.Zero(v.Type()), nil
		}
		out := map[string]string{}
		for key, number := range v.Interface().(map[string]string) {
			name := strings.TrimSpace(key)
			if name == "" || checkText(name, 64) != nil || strings.ContainsFunc(name, unicode.IsControl) {
				return v, fmt.Errorf("must have names of 1 to 64 characters")
			}
			if _, twice := out[name]; twice {
				return v, fmt.Errorf("has %q twice", name)
			}
			stored, err := phone.Parse(number)
			if err != nil {
				return v, fmt.Errorf("[%s] must be an E.164 number such as +15551230001", name)
			}
			out[name] = stored
		}
		return reflect.ValueOf(out), nil
	}
}

func inRange(arg string) rule {
	low, high, _ := strings.Cut(arg, " ")
	from, _ := strconv.ParseFloat(low, 64)
	to, _ := strconv.ParseFloat(high, 64)
	return func(v reflect.Value) (reflect.Value, error) {
		var n float64
		if e := v.Elem(); e.CanInt() {
			n = float64(e.Int())
		} else {
			n = e.Float()
		}
		if !(n >= from && n <= to) { // so that NaN is refused too
			return v, fmt.Errorf("must be %s to %s", low, high)
		}
		return v, nil
	}
}

func checkName(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", fmt.Errorf("must have 1 to 128 characters")
	}
	return s, checkText(s, 128)
}

// checkText counts code points and refuses what no column takes (CONTRACT.md §1, Strings).
func checkText(s string, limit int) error {
	switch {
	case !utf8.ValidString(s):
		return fmt.Errorf("must be valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("must not contain a NUL character")
	case utf8.RuneCountInString(s) > limit:
		return fmt.Errorf("must have at most %d characters", limit)
	}
	return nil
}

func oneOf(values []string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(values, s) {
			return "", fmt.Errorf("must be one of %s", strings.Join(values, ", "))
		}
		return s, nil
	}
}

// checkLanguage takes BCP 47 tags whose language is known; x/text alone would also take underscores.
func checkLanguage(s string) (string, error) {
	if _, err := language.Parse(s); err != nil || len(s) > 64 || strings.Contains(s, "_") {
		return "", fmt.Errorf("must be a BCP 47 language tag such as en or pt-BR")
	}
	return s, nil
}

// checkZone takes the names of IANA. "Local" would mean this machine's.
func checkZone(s string) (string, error) {
	if _, err := time.LoadLocation(s); err != nil || s == "" || s == "Local" {
		return "", fmt.Errorf("must be an IANA time zone such as Europe/Berlin")
	}
	return s, nil
}

var color = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

func checkColor(s string) (string, error) {
	if !color.MatchString(s) {
		return "", fmt.Errorf("must be a colour of the form #rrggbb")
	}
	return s, nil
}

func checkURL(s string) (string, error) {
	if err := checkText(s, 2048); err != nil {
		return "", err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("must be an http or https address")
	}
	return s, nil
}
