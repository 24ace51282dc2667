package call_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/call"
)

// BenchmarkFind is list_calls of the tool server with each filter, on the first page and on the last one that can be
// asked for.
func BenchmarkFind(b *testing.B) {
	bothDatabases(b, func(b *testing.B, r *rig) {
		n := benchRows(b)
		r.many(n)
		none := uuid.New()
		for name, q := range map[string]call.Search{
			"all":           {},
			"with tests":    {IncludeTest: true},
			"oldest first":  {OldestFirst: true},
			"agent":         {AgentID: &r.agent},
			"contact":       {ContactID: &none},
			"campaign":      {CampaignID: &none},
			"status":        {Status: "completed"},
			"rare status":   {Status: "busy"},
			"direction":     {Direction: "outbound"},
			"answered by":   {AnsweredBy: "human"},
			"dates":         {From: "2020-01-01", To: "2100-01-01"},
			"to":            {ToNumber: to},
			"from":          {FromNumber: "+15005550000"},
			"durations":     {MinDuration: ptr(1), MaxDuration: ptr(100000)},
			"rare duration": {MinDuration: ptr(10000000)},
		} {
			for at, offset := range map[string]int{"first page": 0, "offset 1,000,000": 1_000_000} {
				q := q
				q.Offset, q.Limit = offset, 20
				b.Run(name+"/"+at, func(b *testing.B) {
					for b.Loop() {
						_, _, err := call.Find(r.ctx, r.db.Ent(), q)
						require.NoError(b, err)
					}
				})
			}
		}
	})
}
