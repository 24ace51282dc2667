package egress_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
)

func TestAnAddressIsJudgedWhenItIsSubmitted(t *testing.T) {
	strict, open := egress.New(egress.Config{}), egress.New(egress.Config{AllowPrivate: true})
	cases := map[string]struct {
		client *egress.Client
		p      egress.Purpose
		url    string
		says   string // "" = accepted
	}{
		"a usual webhook":              {strict, egress.Webhook, "https://hooks.example.com/a?b=c#d", ""},
		"a port of its own":            {strict, egress.Webhook, "https://hooks.example.com:8443/", ""},
		"a name in another script":     {strict, egress.Webhook, "https://пример.рф/", ""},
		"a name with a long vowel":     {strict, egress.Crawl, "https://ラーメン.jp/", ""},
		"a name with a dot at the end": {strict, egress.Crawl, "https://example.com./", ""},
		"a website without TLS":        {strict, egress.Crawl, "http://example.com", ""},
		"a public IP address":          {strict, egress.Webhook, "https://8.8.8.8/", ""},
		"a webhook without TLS":        {strict, egress.Webhook, "http://example.com/", "url must start with https://"},
		"another scheme":               {strict, egress.Crawl, "ftp://example.com/", "must start with https:// or http://"},
		"no scheme":                    {strict, egress.Crawl, "example.com", "must start with"},
		"a scheme without a host":      {strict, egress.Crawl, "https:///path", "must name a host"},
		"an opaque address":            {strict, egress.Crawl, "https:example.com", "must name a host"},
		"only a port":                  {strict, egress.Crawl, "https://:443/", "must name a host"},
		"an empty text":                {strict, egress.Crawl, "", "must start with"},
		"a password":                   {strict, egress.Webhook, "https://a:b@example.com/", "use a header instead"},
		"a backslash":                  {strict, egress.Webhook, `https://example.com\@127.0.0.1/`, "must be a valid URL"},
		"a line break":                 {strict, egress.Webhook, "https://example.com/\r\nHost: x", "must be a valid URL"},
		"a space in the host":          {strict, egress.Webhook, "https://exa mple.com/", "must be a valid URL"},
		"an endless address":           {strict, egress.Webhook, "https://example.com/" + strings.Repeat("a", 2048), "at most 2048"},
		"an empty label":               {strict, egress.Webhook, "https://a..example.com/", "does not name a host"},
		"a number that is no address":  {strict, egress.Webhook, "https://1.2.3.4.5/", "does not name a host"},
		"a number too large":           {strict, egress.Webhook, "https://99999999999999999999/", "does not name a host"},
		"a public address in decimal":  {strict, egress.Webhook, "https://134744072/", "must spell its IP address as 8.8.8.8"},
		"loopback in decimal":          {strict, egress.Webhook, "https://2130706433/", "must lead to a public host"},
		"metadata":                     {strict, egress.Crawl, "http://169.254.169.254/latest", "must lead to a public host"},
		"loopback on a port":           {strict, egress.Crawl, "http://127.0.0.1:18301/", "must lead to a public host"},
		"a name of this machine":       {strict, egress.Crawl, "http://LOCALHOST./", "must lead to a public host"},
		"a name of a private network":  {strict, egress.Crawl, "http://db.internal/", "must lead to a public host"},
		"a single word":                {strict, egress.Crawl, "http://intranet/", "must lead to a public host"},
		"development on this machine":  {open, egress.Webhook, "http://localhost:3000/hook", ""},
		"development in containers":    {open, egress.Webhook, "http://receiver:80/hook", ""},
		"development in a network":     {open, egress.Crawl, "http://192.168.1.5:81/", ""},
		"metadata in development":      {open, egress.Crawl, "http://169.254.169.254/", "must lead to a public host"},
		"a file in development":        {open, egress.Crawl, "file:///etc/passwd", "must start with"},
		"a password in development":    {open, egress.Crawl, "http://a:b@localhost/", "must not hold a user name or password"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.client.CheckURL(tc.p, "url", tc.url)
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, fault.Is(err, "validation_failed"), "%v", err)
			require.ErrorContains(t, err, tc.says)
			require.Equal(t, fault.Invalid, fault.From(err).Kind)
		})
	}
}

func TestHeadersThatUsersConfigure(t *testing.T) {
	cases := map[string]struct{ name, value, says string }{
		"a usual one":              {"Authorization", "Bearer abc", ""},
		"any visible character":    {"X-Key", "a:b,c;d=\"e\"\tf é", ""},
		"an empty value":           {"X-Empty", "", ""},
		"a user agent":             {"User-Agent", "shop/1", ""},
		"no name":                  {"", "a", "needs a name"},
		"a space in the name":      {"X Key", "a", "may hold letters"},
		"a colon in the name":      {"X-Key:", "a", "may hold letters"},
		"a pseudo header":          {":authority", "a", "may hold letters"},
		"another script's name":    {"Ключ", "a", "may hold letters"},
		"a line break in the name": {"X\r\nY", "a", "may hold letters"},
		"a line feed":              {"X-Key", "a\nHost: b", "control character"},
		"a carriage return":        {"X-Key", "a\rb", "control character"},
		"a NUL":                    {"X-Key", "a\x00b", "control character"},
		"a delete character":       {"X-Key", "a\x7f", "control character"},
		"a long value":             {"X-Key", strings.Repeat("a", 4097), "at most"},
		"a long name":              {strings.Repeat("a", 129), "a", "at most"},
		"the host":                 {"host", "a", "Host is set by Callwright"},
		"the length":               {"content-length", "1", "Content-Length is set"},
		"the type":                 {"Content-Type", "text/plain", "Content-Type is set"},
		"the coding":               {"TRANSFER-ENCODING", "chunked", "Transfer-Encoding is set"},
		"the connection":           {"Connection", "close", "Connection is set"},
		"an upgrade":               {"Upgrade", "h2c", "Upgrade is set"},
		"an expectation":           {"Expect", "100-continue", "Expect is set"},
		"a trailer":                {"Trailer", "X", "Trailer is set"},
		"te":                       {"TE", "trailers", "Te is set"},
		"keep-alive":               {"Keep-Alive", "1", "Keep-Alive is set"},
		"a proxy's":                {"Proxy-Authorization", "a", "Proxy-Authorization is set"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := egress.ValidHeader("headers", tc.name, tc.value)
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, fault.Is(err, "validation_failed"), "%v", err)
			require.ErrorContains(t, err, tc.says)
			require.True(t, strings.HasPrefix(fault.From(err).Message, "headers: "))
			if len(tc.value) > 3 && tc.value != "text/plain" {
				require.NotContains(t, err.Error(), tc.value, "values can be secrets")
			}
		})
	}
}
