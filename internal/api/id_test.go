package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/api"
	"github.com/callwright/callwright/internal/fault"
)

func TestIDsAreCanonicalInAnyCase(t *testing.T) {
	want := uuid.New()
	for _, text := range []string{want.String(), strings.ToUpper(want.String())} {
		got, err := api.ParseID("id", text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestEveryOtherFormOfAnIDIsRefusedAndTheFieldNamed(t *testing.T) {
	id := uuid.NewString()
	for name, text := range map[string]string{
		"empty":             "",
		"a word":            "call",
		"braces":            "{" + id + "}",
		"urn":               "urn:uuid:" + id,
		"bare digits":       strings.ReplaceAll(id, "-", ""),
		"one short":         id[1:],
		"one long":          id + "0",
		"a letter behind f": "g" + id[1:],
		"dashes elsewhere":  "0000-00000000-0000-0000-000000000000",
		"36 of nothing":     strings.Repeat(" ", 36),
		"in quotes":         `"` + id[2:] + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := api.ParseID("agent_id", text)
			require.True(t, fault.Is(err, "validation_failed"), "%v", err)
			require.Equal(t, "agent_id must be a UUID", fault.From(err).Message)
		})
	}
}
