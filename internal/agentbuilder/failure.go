package agentbuilder

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/callwright/callwright/internal/egress"
)

// failure is why a job made no agent: a stable word, and a sentence to the person who submitted the address.
type failure struct{ code, sentence string }

func (f *failure) Error() string { return f.code }

func failuref(code, format string, args ...any) *failure {
	return &failure{code, fmt.Sprintf(format, args...)}
}

var errRobots = failuref("robots_refused", "The site's robots.txt does not let Callwright read this address. "+
	"Allow the user agent Callwright there, or send instructions without an address.")

var errInternal = failuref("internal_error", "Something went wrong on our side. Submit the job again.")

// unreachable is the failure behind an address without an answer.
func unreachable(err error, host string) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	switch egress.ClassOf(err) {
	case egress.DNS:
		return failuref("address_unknown", "The host name %s does not resolve. Check the spelling of the address.", host)
	case egress.RefusedAddress:
		return failuref("address_refused", "The address leads to a host or port that is not public. "+
			"Give an address that everybody on the internet can open.")
	case egress.Timeout:
		return failuref("timeout", "%s did not answer in time. Try again later, or send instructions without an address.", host)
	case egress.TLS:
		return failuref("tls_failed", "The secure connection to %s failed. Check the site's certificate, or try the address with http.", host)
	case egress.TooManyRedirects:
		return failuref("too_many_redirects", "The address redirects too many times. Give the address of the page itself.")
	case egress.Connect, egress.Closed:
		return failuref("connection_failed", "%s refused or dropped the connection. Check that the address opens in a browser.", host)
	}
	return failuref("not_a_web_page", "%s does not answer as a website does. Check that the address opens in a browser.", host)
}

// refusal is the failure behind an HTTP status that is no page.
func refusal(status int) *failure {
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		return failuref("page_not_found", "There is no page at this address (HTTP %d). Check the address.", status)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return failuref("site_refused", "The site does not let programs read it (HTTP %d). Allow the user agent Callwright, "+
			"or send instructions without an address.", status)
	}
	return failuref("site_error", "The site answered with an error (HTTP %d). Try again later.", status)
}

var errNothing = failuref("no_readable_page", "No page of the site has text that can be read without running its scripts. "+
	"Send instructions that say what the agent should know.")

func notAPage(kind string) *failure {
	return failuref("not_a_web_page", "The address leads to a file of type %s, not to a web page. Give the address of a page.", kind)
}
