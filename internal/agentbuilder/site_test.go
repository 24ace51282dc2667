package agentbuilder_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden holds what was read of a site against its file; the site's own address is written BASE.
func golden(t *testing.T, name string, s *agentbuilder.Site, base string) {
	var b strings.Builder
	for _, p := range s.Pages {
		b.WriteString("=== " + p.URL + "\n" + p.Title + "\n" + p.Description + "\n\n" + p.Markdown + "\n\n")
	}
	got := strings.ReplaceAll(b.String(), base, "BASE")
	if *update {
		require.NoError(t, os.WriteFile("testdata/"+name, []byte(got), 0o600))
	}
	require.Equal(t, string(file(t, name)), got)
}

func TestARestaurantIsReadAndGetsAnAgentWithoutAModel(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		web := restaurant(t)
		r := newRig(t, db, nil)
		row := r.build(t, web.URL+"/#top", "")
		s := r.made(t, row)

		read, err := agentbuilder.SiteOf(row)
		require.NoError(t, err)
		golden(t, "restaurant.md", read, web.URL)
		f := read.Facts
		require.Equal(t, []string{"Trattoria Bella", "Restaurant", "+44 113 496 0123", "ciao@trattoria-bella.example", "12 Canal Street, LS1 4AB Leeds, GB"},
			[]string{f.Name, f.Kind, f.Phone, f.Email, f.Address})
		require.Equal(t, []string{"Tuesday, Wednesday, Thursday 17:00 to 22:00", "Friday, Saturday 12:00 to 23:00", "Monday closed"}, f.Hours)
		require.Equal(t, 4, row.PagesRead)
		require.Equal(t, 6, row.PagesFound, "home, menu, about, contact, privacy, and what robots.txt forbids")

		require.Equal(t, agentbuilder.Builtin, row.Writer)
		require.Contains(t, row.Note, "No language model is set")
		require.Equal(t, "Trattoria Bella Assistant", *s.Name)
		require.Equal(t, "Trattoria Bella", *s.CompanyName)
		require.Contains(t, *s.WelcomeMsg, "Trattoria Bella")
		require.Equal(t, "Friendly", *s.ToneOfVoice)
		require.Equal(t, "en", *s.Language)
		require.Nil(t, s.VoiceID, "the platform's default voice")
		require.Contains(t, s.Guardrails[0], "Never make anything up")
		for _, known := range []string{"+44 113 496 0123", "Friday, Saturday 12:00 to 23:00", "Diavola, spicy salami, £12", "André Bellucci", "Zoë", "entrance from Mill Lane"} {
			require.Contains(t, *s.Instruction, known)
		}
		require.LessOrEqual(t, len([]rune(*s.Instruction)), 9_500)

		asked := web.requests()
		require.Equal(t, "/robots.txt", asked[0])
		require.NotContains(t, asked, "/staff/rota.html")
		require.NotContains(t, asked, "/menu.pdf")
		require.Equal(t, map[string]bool{"Callwright/test (+https://callwright.example)": true}, web.agents)
		require.NotEmpty(t, r.pauses)
		for _, p := range r.pauses {
			require.Equal(t, time.Second, p, "the crawl delay")
		}
	})
}

func TestAShopIsReadByItsSitemapsWithoutMenusAndCookieBars(t *testing.T) {
	web := shop(t)
	r := newRig(t, storetest.SQLite(t), nil)
	row := r.build(t, web.URL, "")
	s := r.made(t, row)

	read, err := agentbuilder.SiteOf(row)
	require.NoError(t, err)
	golden(t, "shop.md", read, web.URL)
	all := string(row.Pages)
	require.NotContains(t, all, "Cookies")
	require.LessOrEqual(t, strings.Count(all, "Startseite"), 1, "the menu")
	require.LessOrEqual(t, strings.Count(all, "versandkostenfrei"), 1)
	require.Contains(t, web.requests(), "/sitemaps/pages.xml.gz")
	products := 0
	for _, p := range web.requests() {
		if strings.HasPrefix(p, "/produkte/") {
			products++
		}
	}
	require.LessOrEqual(t, products, 6, "400 products are alike")

	require.Equal(t, "de", *s.Language)
	require.Equal(t, "Guten Tag, vielen Dank für Ihren Anruf bei Radhaus Müller. Wie kann ich Ihnen helfen?", *s.WelcomeMsg)
	for _, known := range []string{"0431 555 0190", "Mo-Fr 09:00-18:00", "30 Tage lang", "79 Euro", "Holtenauer Str. 5"} {
		require.Contains(t, *s.Instruction, known)
	}
}
