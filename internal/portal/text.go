package portal

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
	"google.golang.org/protobuf/types/known/timestamppb"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

type component = templ.Component

// labels are the names of form fields as people read them on the page.
var labels = strings.NewReplacer("workspace_name ", "workspace name ", "new_password ", "the new password ")

// sentence is the message of a fault as a sentence.
func sentence(f *fault.Error) string {
	text := labels.Replace(f.Message)
	if f.Code == "forbidden" {
		text = "your role in this workspace does not allow this: ask an owner"
	}
	if first, n := utf8.DecodeRuneInString(text); n > 0 {
		text = string(unicode.ToUpper(first)) + text[n:]
	}
	if f.Kind == fault.TooMany && f.RetryAfter > 0 {
		text += ": try again in " + span(f.RetryAfter)
	}
	return strings.TrimRight(text, ".") + "."
}

// span is a time in words, rounded up: what is promised may not be too short.
func span(d time.Duration) string {
	switch {
	case d <= time.Second:
		return "a second"
	case d <= 90*time.Second:
		return fmt.Sprintf("%d seconds", int(math.Ceil(d.Seconds())))
	case d <= 90*time.Minute:
		return fmt.Sprintf("%d minutes", int(math.Ceil(d.Minutes())))
	case d <= 36*time.Hour:
		return fmt.Sprintf("%d hours", int(math.Ceil(d.Hours())))
	}
	return fmt.Sprintf("%d days", int(math.Ceil(d.Hours()/24)))
}

// ago is how long something is past.
func ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < 45*time.Second:
		return "just now"
	case d < 90*time.Second:
		return "a minute ago"
	case d < 90*time.Minute:
		return fmt.Sprintf("%d minutes ago", int(math.Round(d.Minutes())))
	case d < 36*time.Hour:
		return fmt.Sprintf("%d hours ago", int(math.Round(d.Hours())))
	}
	return fmt.Sprintf("%d days ago", int(math.Round(d.Hours()/24)))
}

// when is a time as it is shown; the script puts it into the reader's own zone.
func when(t *timestamppb.Timestamp) string { return t.AsTime().UTC().Format("2 Jan 2006, 15:04 UTC") }

// exact is a time for machines.
func exact(t *timestamppb.Timestamp) string { return t.AsTime().UTC().Format(time.RFC3339) }

// failureTitle is the headline of an error page.
func failureTitle(f *fault.Error) string {
	switch f.Kind {
	case fault.NotFound:
		return "Nothing here"
	case fault.Denied:
		return "Not allowed"
	case fault.TooMany:
		return "Slow down a little"
	case fault.Invalid, fault.MethodNotAllowed, fault.TooLarge, fault.Unprocessable:
		return "That did not work"
	case fault.Conflict, fault.Exists, fault.Gone:
		return "That is not possible now"
	case fault.Unauthenticated:
		return "You are signed out"
	}
	return "Something went wrong"
}

type stamp = *timestamppb.Timestamp

// orText is the first text that is not empty.
func orText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// personName is what a person is called.
func personName(p *callwrightv1.Person) string { return orText(p.GetEmail(), p.GetName(), "Owner") }

// upperFirst begins a sentence.
func upperFirst(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[n:]
}

// under tells whether a path lies below a page.
func under(path, page string) bool { return page != "/" && strings.HasPrefix(path, page+"/") }

func nextQuery(next string) string {
	if next == "/" || next == "" {
		return ""
	}
	return "?next=" + url.QueryEscape(next)
}

// roleNames are the roles from the most to the least that they may.
var roleNames = []string{"owner", "admin", "member", "viewer"}

func roleArticle(role string) string {
	if role == "owner" || role == "admin" {
		return "an " + role
	}
	return "a " + role
}

// roleMeaning says what a role may do.
func roleMeaning(role string) string {
	switch role {
	case "owner":
		return "you may do everything, also make other owners."
	case "admin":
		return "you may do everything but make owners."
	case "member":
		return "you may place calls and change agents, contacts and keys."
	case "viewer":
		return "you may look at everything and change nothing."
	}
	return ""
}

// listed says where the rows of a page lie in their list.
type listed struct {
	Offset, Limit, Rows int
	Total               int64
	More                bool
}

const pageRows = 50

func (l listed) text() string {
	return fmt.Sprintf("%d–%d of %d", l.Offset+1, l.Offset+l.Rows, l.Total)
}
func (l listed) newer() string { return fmt.Sprintf("?offset=%d", max(0, l.Offset-l.Limit)) }
func (l listed) older() string { return fmt.Sprintf("?offset=%d", l.Offset+l.Limit) }

// offset is the row that a list is to begin with.
func (v *visit) offset() int32 {
	n, err := strconv.ParseInt(v.r.URL.Query().Get("offset"), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

func listing(pg *callwrightv1.Pagination, rows int) listed {
	return listed{Offset: int(pg.GetOffset()), Limit: int(pg.GetLimit()), Rows: rows, Total: pg.GetTotal(), More: pg.GetHasMore()}
}

// roleShort says what a role may do, behind its name.
func roleShort(role string) string {
	return strings.TrimSuffix(strings.TrimPrefix(roleMeaning(role), "you "), ".")
}
