package call_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func repeated(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// Filters that can not be right name the place in details.path.
func TestFiltersAreRefusedWithTheirPlace(t *testing.T) {
	id := store.NewID().String()
	nested := func(n int) string {
		return strings.Repeat(`{"AND":[`, n) + `{"status":"busy"}` + strings.Repeat(`]}`, n)
	}
	bad := map[string]string{
		`[]`:                                   "where",
		`"x"`:                                  "where",
		`{`:                                    "where",
		`{} {`:                                 "where",
		`{"workspace_id":"` + id + `"}`:        "where.workspace_id",
		`{"nope":1}`:                           "where.nope",
		`{"to_number":"+1"}`:                   "where.to_number",
		`{"status":"done"}`:                    "where.status",
		`{"status":"COMPLETED"}`:               "where.status",
		`{"status":{"equals":"done"}}`:         "where.status.equals",
		`{"status":{"in":["busy","done"]}}`:    "where.status.in[1]",
		`{"status":{"contains":"b"}}`:          "where.status.contains",
		`{"status":{"is":"busy"}}`:             "where.status.is",
		`{"status":{}}`:                        "where.status",
		`{"status":{"mode":"insensitive"}}`:    "where.status",
		`{"status":["busy"]}`:                  "where.status",
		`{"status":null}`:                      "where.status",
		`{"status":{"in":[null]}}`:             "where.status.in[0]",
		`{"status":{"lt":null}}`:               "where.status.lt",
		`{"direction":"sideways"}`:             "where.direction",
		`{"answered_by":"robot"}`:              "where.answered_by",
		`{"to":5}`:                             "where.to",
		`{"to":"a\u0000"}`:                     "where.to",
		`{"to":{"equals":"x","mode":"loose"}}`: "where.to.mode",
		`{"duration":{"equals":1,"mode":"insensitive"}}`: "where.duration.mode",
		`{"duration":"x"}`:                              "where.duration",
		`{"duration":1.5}`:                              "where.duration",
		`{"duration":true}`:                             "where.duration",
		`{"duration":{"contains":1}}`:                   "where.duration.contains",
		`{"duration":99999999999999999999}`:             "where.duration",
		`{"created_at":"yesterday"}`:                    "where.created_at",
		`{"created_at":{"gte":"2026-02-30"}}`:           "where.created_at.gte",
		`{"created_at":5}`:                              "where.created_at",
		`{"id":"5"}`:                                    "where.id",
		`{"agent_id":"{` + id + `}"}`:                   "where.agent_id",
		`{"agent_id":{"contains":"a"}}`:                 "where.agent_id.contains",
		`{"metadata":"x"}`:                              "where.metadata",
		`{"metadata":{"equals":"x"}}`:                   "where.metadata.path",
		`{"metadata":{"path":[],"equals":"x"}}`:         "where.metadata.path",
		`{"metadata":{"path":[1],"equals":"x"}}`:        "where.metadata.path[0]",
		`{"metadata":{"path":["a"]}}`:                   "where.metadata",
		`{"metadata":{"path":["a"],"equals":{}}}`:       "where.metadata.equals",
		`{"metadata":{"path":["a"],"equals":"\u0000"}}`: "where.metadata.equals",
		`{"metadata":{"path":["a"],"equals":1e999}}`:    "where.metadata.equals",
		`{"metadata":{"path":["a"],"contains":"x"}}`:    "where.metadata.contains",
		`{"AND":"x"}`:                                   "where.AND",
		`{"OR":[{"status":"busy"},{"nope":1}]}`:         "where.OR[1].nope",
		`{"NOT":{"OR":[{"AND":[{"status":"done"}]}]}}`:  "where.NOT.OR[0].AND[0].status",
		nested(4): "where.AND[0].AND[0].AND[0].AND",
		`{"to":{"in":[` + repeated(101, `"%d"`) + `]}}`:    "where.to.in",
		`{"OR":[` + repeated(21, `{"duration":%d}`) + `]}`: "where.OR[20].duration",
		`{"to":"` + strings.Repeat("x", 4096) + `"}`:       "where",
		"{\"to\":\"\xff\"}":                                "where",
		`{"` + strings.Repeat("é", 100) + `":1}`:           "where." + strings.Repeat("é", 64) + "…",
		`{"status":{"not":"done"}}`:                        "where.status.not",
		`{"status":{"in":"busy"}}`:                         "where.status.in",
		`{"duration":"30"}`:                                "where.duration",
		`{"duration":{"lt":"30"}}`:                         "where.duration.lt",
		`{"duration":{"in":["30"]}}`:                       "where.duration.in[0]",
		`{"metadata":{"path":"a","equals":"x"}}`:           "where.metadata.path",
		`{"brackets":{"status":"done"}}`:                   "where.status",
		`{"brackets":{"status":"busy"},"to":"x"}`:          "where.brackets",
		`{"brackets":[]}`:                                  "where",
		`{"brackets":null}`:                                "where.brackets",
		`{"brackets":{"duration":"x"}}`:                    "where.duration",
		`{"duration":{"gte":1,"lte":2,"not":null,"x":1}}`:  "where.duration.x",
	}
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		for where, path := range bad {
			_, err := call.List(r.ctx, db.Ent(), call.Query{Where: where})
			f := requireCode(t, err, "validation_failed")
			require.Equal(t, fault.Invalid, f.Kind)
			require.Equal(t, path, f.Details["path"], where)
			require.True(t, strings.HasPrefix(f.Message, path), f.Message)
		}
		for _, where := range []string{
			``, `{}`, nested(3), `{"AND":[]}`, `{"NOT":[]}`, `{"OR":[` + repeated(20, `{"duration":%d}`) + `]}`,
			`{"to":{"in":[` + repeated(100, `"%d"`) + `]}}`, `{"to":"` + strings.Repeat("x", 4096-9) + `"}`,
		} {
			_, err := call.List(r.ctx, db.Ent(), call.Query{Where: where})
			require.NoError(t, err, where)
		}
	})
}

// numbered makes calls to +1500555000n and names them by n.
func (r *rig) list(q call.Query) string {
	r.t.Helper()
	p, err := call.List(r.ctx, r.db.Ent(), q)
	require.NoError(r.t, err, q)
	var out strings.Builder
	for _, c := range p.Calls {
		out.WriteString(c.ToNumber[len(c.ToNumber)-1:])
	}
	require.EqualValues(r.t, len(p.Calls), p.Total)
	return out.String()
}

func TestFiltersSelectWhatTheySay(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		other := newRig(t, db)
		other.place(call.Request{To: "+15005550009"})
		id := func(n int, metadata string) string {
			c := r.place(call.Request{To: fmt.Sprintf("+1500555000%d", n), Metadata: []byte(metadata)})
			return c.ID.String()
		}
		one := id(1, `{"plan":"gold","n":5,"deep":{"a.b":{"q\"":"x"}},"on":true,"null":null}`)
		two := id(2, `{"plan":"Gold","n":"5","on":false,"list":["a"]}`)
		id(3, `{"n":5.0,"on":"true","":"empty"}`)
		set := func(id string, change string) {
			c := r.get(uuidOf(id))
			up := db.Ent().Call.UpdateOne(c)
			switch change {
			case "ended":
				up.SetStatus("completed").SetDuration(30).SetAnsweredBy("human")
			case "caller":
				up.SetFromNumber("Anonymous").SetStatus("failed").SetDuration(7)
			}
			require.NoError(t, up.Exec(r.ctx))
		}
		set(one, "ended")
		set(two, "caller")
		day := r.get(uuidOf(one)).CreatedAt
		today, at := day.Format("2006-01-02"), day.Format("2006-01-02T15:04:05.000Z")

		for where, want := range map[string]string{
			``:                       "321",
			`{}`:                     "321",
			`{"status":"completed"}`: "1",
			`{"status":{"equals":"COMPLETED","mode":"insensitive"}}`:    "1",
			`{"status":{"not":"completed"}}`:                            "32",
			`{"status":{"in":["completed","queued"]}}`:                  "31",
			`{"brackets":{"status":{"in":"completed"}}}`:                "1",
			`{"brackets":{"duration":{"gte":"7","lt":"30"}}}`:           "2",
			`{"brackets":{"metadata":{"path":"plan","equals":"Gold"}}}`: "2",
			`{"brackets":{}}`:                                           "321",
			`{"status":{"in":[]}}`:                                      "",
			`{"status":{"notIn":[]}}`:                                   "321",
			`{"status":{"notIn":["completed","failed"]}}`:               "3",
			`{"id":"` + one + `"}`:                                      "1",
			`{"id":"` + strings.ToUpper(one) + `"}`:                     "1",
			`{"id":{"in":["` + one + `","` + two + `"]}}`:               "21",
			`{"agent_id":"` + r.agent.String() + `"}`:                   "321",
			`{"agent_id":{"not":"` + r.agent.String() + `"}}`:           "",
			`{"agent_id":"` + other.agent.String() + `"}`:               "",
			`{"contact_id":null}`:                                       "321",
			`{"contact_id":{"not":null}}`:                               "",
			`{"contact_id":{"not":"` + one + `"}}`:                      "321", // what has no contact has not that one
			`{"direction":"outbound"}`:                                  "321",
			`{"direction":"inbound"}`:                                   "",
			`{"to":"+15005550001"}`:                                     "1",
			`{"to":{"endsWith":"0002"}}`:                                "2",
			`{"to":{"startsWith":"+1500"}}`:                             "321",
			`{"to":{"contains":"5550003"}}`:                             "3",
			`{"to":{"contains":"%"}}`:                                   "",
			`{"to":{"contains":"_"}}`:                                   "",
			`{"to":{"contains":""}}`:                                    "321",
			`{"to":{"startsWith":"+15005550003+"}}`:                     "",
			`{"to":{"endsWith":"xxxxxxxxxxxxxxx"}}`:                     "",
			`{"to":{"gt":"+15005550001","lt":"+15005550003"}}`:          "2",
			`{"from":{"contains":"anon"}}`:                              "",
			`{"from":{"contains":"ANON","mode":"insensitive"}}`:         "2",
			`{"from":{"equals":"aNONYMOUS","mode":"insensitive"}}`:      "2",
			`{"from":{"gt":"A"}}`:                                       "2",
			`{"from":{"gt":"a"}}`:                                       "", // by code point
			`{"duration":30}`:                                           "1",
			`{"duration":{"gte":7,"lt":30}}`:                            "2",
			`{"duration":null}`:                                         "3",
			`{"duration":{"equals":null}}`:                              "3",
			`{"duration":{"not":null}}`:                                 "21",
			`{"duration":{"not":30}}`:                                   "32",
			`{"duration":{"notIn":[30,7]}}`:                             "3",
			`{"duration":{"lt":1000}}`:                                  "21",
			`{"NOT":{"duration":{"lt":1000}}}`:                          "3",
			`{"answered_by":"human"}`:                                   "1",
			`{"answered_by":{"not":"human"}}`:                           "32",
			`{"created_at":"` + today + `"}`:                            "321",
			`{"created_at":{"not":"` + today + `"}}`:                    "",
			`{"created_at":{"lte":"` + today + `"}}`:                    "321",
			`{"created_at":{"lt":"` + today + `"}}`:                     "321",
			`{"created_at":{"gte":"` + today + `"}}`:                    "321",
			`{"created_at":{"lte":"2020-01-01"}}`:                       "",
			`{"id":"` + one + `","created_at":{"equals":"` + at + `"}}`: "1", // the time as the API shows it
			`{"id":"` + one + `","created_at":{"gt":"` + at + `"}}`:     "",
			`{"AND":[{"status":"completed"},{"duration":30}]}`:          "1",
			`{"AND":[{"status":"completed"},{"duration":7}]}`:           "",
			`{"OR":[{"status":"completed"},{"duration":7}]}`:            "21",
			`{"OR":[]}`:                      "",
			`{"AND":[]}`:                     "321",
			`{"NOT":[]}`:                     "321",
			`{"NOT":{}}`:                     "",
			`{"NOT":{"status":"completed"}}`: "32",
			`{"NOT":[{"duration":30},{"duration":7}]}`:                     "3",
			`{"status":"queued","OR":[{"duration":30},{"duration":null}]}`: "3",
			`{"metadata":{"path":["plan"],"equals":"gold"}}`:               "1",
			`{"metadata":{"path":["plan"],"equals":"Gold"}}`:               "2",
			`{"metadata":{"path":["n"],"equals":5}}`:                       "31",
			`{"metadata":{"path":["n"],"equals":5.0}}`:                     "31",
			`{"metadata":{"path":["n"],"equals":"5"}}`:                     "2",
			`{"metadata":{"path":["on"],"equals":true}}`:                   "1",
			`{"metadata":{"path":["on"],"equals":false}}`:                  "2",
			`{"metadata":{"path":["on"],"equals":"true"}}`:                 "3",
			`{"metadata":{"path":["deep","a.b","q\""],"equals":"x"}}`:      "1",
			`{"metadata":{"path":["deep","a","b"],"equals":"x"}}`:          "",
			`{"metadata":{"path":[""],"equals":"empty"}}`:                  "3",
			`{"metadata":{"path":["null"],"equals":null}}`:                 "321",
			`{"metadata":{"path":["plan"],"equals":null}}`:                 "3",
			`{"metadata":{"path":["list","0"],"equals":"a"}}`:              "",
			`{"metadata":{"path":["plan","x"],"equals":"gold"}}`:           "",
			`{"NOT":{"metadata":{"path":["plan"],"equals":"gold"}}}`:       "32",
		} {
			require.Equal(t, want, r.list(call.Query{Where: where}), where)
		}
	})
}
