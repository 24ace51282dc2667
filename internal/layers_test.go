// Package internal_test keeps the structure of the repository: who may import whom, who owns which table, and that every
// package says what it is for. It asks the go command and the syntax trees; nothing here runs the product.
package internal_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// everything in the table below stands for any package of ours.
const everything = "*"

const module = "github.com/callwright/callwright/"

// layers says what each package of ours may import of ours; imports point downwards only. A package that is not in the
// table and a line whose package is gone both fail. "ent" stands for the generated client and row types; a predicate
// package ent/<table> belongs to one owner, see owners. Packages below a line's own path need lines of their own.
var layers = map[string][]string{
	// 0: know nothing of ours
	"internal/fault":    {"gen"},
	"internal/phone":    {},
	"internal/secret":   {},
	"internal/throttle": {},
	"internal/audio":    {},
	"internal/egress":   {"internal/fault"},
	// the built-in speaker's voice
	"internal/audio/voice": {"internal/audio"},
	// 1
	"internal/store":                    {"ent", "internal/fault", "internal/store/migrations"},
	"internal/store/migrations":         {"ent"},
	"internal/store/newmigration":       {"ent", "internal/store/migrations", "internal/store/storetest/postgres"},
	"internal/store/storetest":          {"internal/store", "internal/store/storetest/postgres"},
	"internal/store/storetest/postgres": {},
	"internal/carrier":                  {"internal/audio", "internal/phone", "internal/fault"},
	"internal/carrier/sandbox": {"internal/carrier", "internal/audio", "internal/audio/voice", "internal/phone",
		"internal/fault"},
	// a test that every line passes
	"internal/carrier/carriertest": {"internal/carrier", "internal/audio"},
	"internal/carrier/rtp":         {"internal/carrier", "internal/audio"},
	// how two telephones agree on sound, and real trunks
	"internal/carrier/sdp": {},
	"internal/carrier/sip": {"internal/carrier", "internal/carrier/rtp", "internal/carrier/sdp", "internal/audio", "internal/phone"},
	// the other sides of calls, for tests
	"internal/carrier/sip/siptest": {"internal/audio"},
	// what lists are filtered and ordered by
	"internal/filter": {"internal/store", "internal/fault"},
	// text messages
	"internal/messenger": {"internal/fault"},
	"internal/openai":    {},
	// 2: one talk; neither database nor provider
	"internal/conversation": {"internal/audio", "internal/audio/voice", "internal/carrier", "internal/fault"},
	// the built-in speech, without a provider
	"internal/conversation/scripted": {"internal/conversation", "internal/audio", "internal/audio/voice", "internal/carrier",
		"internal/fault"},
	// speech by one realtime model
	"internal/conversation/realtime": {"internal/conversation", "internal/conversation/scripted", "internal/audio", "internal/openai"},
	// speech by OpenAI-compatible servers
	"internal/conversation/hosted": {"internal/conversation", "internal/openai", "internal/audio"},
	// measures the talk, for callwright bench
	"internal/bench": {"internal/conversation", "internal/conversation/scripted", "internal/audio", "internal/audio/voice",
		"internal/carrier", "internal/carrier/sandbox"},
	// 3: the rules; never protobuf
	"internal/identity": {"ent", "internal/store", "internal/fault", "internal/phone", "internal/policy", "internal/secret"},
	// for tests: an OpenID provider
	"internal/identity/openidtest": {},
	"internal/agent":               {"ent", "internal/store", "internal/fault", "internal/phone", "internal/secret", "internal/egress"},
	"internal/contact":             {"ent", "internal/store", "internal/filter", "internal/fault", "internal/phone"},
	"internal/policy":              {"ent", "internal/store", "internal/fault", "internal/phone"},
	"internal/call": {"ent", "internal/store", "internal/filter", "internal/fault", "internal/phone", "internal/audio",
		"internal/identity", "internal/agent", "internal/contact", "internal/policy"},
	"internal/campaign": {"ent", "internal/store", "internal/fault", "internal/phone", "internal/identity", "internal/agent",
		"internal/contact", "internal/policy", "internal/call", "internal/messenger"},
	"internal/replay": {"ent", "internal/store", "internal/fault"},
	"internal/webhook": {"ent", "internal/store", "internal/fault", "internal/egress", "internal/agent", "internal/contact",
		"internal/call", "internal/analysis", "internal/secret"},
	"internal/analysis": {"ent", "internal/store", "internal/fault", "internal/openai", "internal/call", "internal/agent"},
	// from a website's address to an agent
	// (identity: the lock that jobs are counted under, and the workspace's name)
	"internal/agentbuilder": {"ent", "internal/store", "internal/fault", "internal/openai", "internal/egress", "internal/agent",
		"internal/identity"},
	// 4
	"internal/engine": {"ent", "internal/store", "internal/fault", "internal/audio", "internal/carrier", "internal/call",
		"internal/agent", "internal/contact", "internal/identity", "internal/conversation", "internal/conversation/scripted"},
	"internal/api": {"gen", "ent", "internal/store", "internal/fault", "internal/identity", "internal/agent",
		"internal/call", "internal/campaign", "internal/contact", "internal/policy", "internal/analysis", "internal/webhook", "internal/replay",
		"internal/agentbuilder"},
	// 5: clients of the gRPC services, and the listeners
	"internal/mcp":    {"gen", "internal/fault", "internal/throttle"},
	"internal/rest":   {"gen", "internal/fault", "internal/throttle"},
	"internal/portal": {"gen", "internal/fault"},
	// a plugin of buf; gen is being written while it runs
	"internal/rest/remarks": {},
	// for tests: answers against the OpenAPI description
	"internal/rest/resttest": {},
	// for tests: other people's programs from npm
	"internal/nodetest": {},
	"internal/server":   {"gen", "internal/fault"},
	// the top: puts it together
	"cmd/callwright": {everything, "internal/analysis", "internal/webhook", "internal/openai", "internal/egress"},
}

// owners says which package may import the predicates of a table, and so filter, change or delete its rows. Others read
// rows that the owner gives them.
var owners = map[string][]string{
	"internal/identity":     {"workspace", "user", "apikey", "session", "pairing", "link", "tally", "auditentry", "toolaccess"},
	"internal/agent":        {"agent", "phonenumber", "action"},
	"internal/call":         {"call", "turn", "callcount", "callspan"},
	"internal/contact":      {"contact", "customfield"},
	"internal/policy":       {"donotcall", "dialdecision"},
	"internal/campaign":     {"campaign", "enrollment"},
	"internal/analysis":     {"callanalysis", "calltag"},
	"internal/webhook":      {"delivery"},
	"internal/replay":       {"idempotencykey"},
	"internal/agentbuilder": {"agentbuild"},
}

// entities are the client's fields for the tables, as they stand in x.<Entity>.Create().
var entities = map[string]string{
	"workspace": "Workspace", "user": "User", "apikey": "APIKey", "agent": "Agent", "phonenumber": "PhoneNumber",
	"call": "Call", "turn": "Turn", "callcount": "CallCount", "callspan": "CallSpan", "action": "Action", "contact": "Contact",
	"customfield": "CustomField", "donotcall": "DoNotCall", "dialdecision": "DialDecision", "campaign": "Campaign",
	"enrollment": "Enrollment", "callanalysis": "CallAnalysis", "calltag": "CallTag", "delivery": "Delivery",
	"idempotencykey": "IdempotencyKey", "session": "Session", "pairing": "Pairing", "link": "Link", "tally": "Tally",
	"auditentry": "AuditEntry", "toolaccess": "ToolAccess",
	"agentbuild": "AgentBuild",
}

// fenced are imports from outside that only some packages may have. River's plain types are allowed to the rule packages
// and the engine: job arguments are declared by who enqueues them.
var fenced = map[string][]string{
	"google.golang.org/grpc/status": {"internal/fault", "internal/server", "internal/rest"},
	"google.golang.org/grpc/codes":  {"internal/fault", "internal/server", "internal/rest"},
	"database/sql":                  {"internal/store"},
	"github.com/jackc/pgx":          {"internal/store"},
	"modernc.org/sqlite":            {"internal/store"},
	"github.com/riverqueue/river/":  {"internal/store"},
	"github.com/riverqueue/river": {"internal/store", "internal/call", "internal/engine", "internal/identity",
		"internal/agent", "cmd/callwright", "internal/analysis", "internal/agentbuilder"},
	"github.com/emiago/sipgo":           {"internal/carrier/sip"},
	"github.com/sashabaranov/go-openai": {"internal/openai"},
	"github.com/coder/websocket":        {"internal/openai"},
	"code.dny.dev/ssrf":                 {"internal/egress"},
}

// shapeless are package names that would hold anything.
var shapeless = []string{"util", "utils", "helper", "helpers", "common", "models", "types", "misc", "base", "manager"}

type pkg struct {
	ImportPath, Dir, Name, Doc         string
	Imports, TestImports, XTestImports []string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// path is the package's place in the repository.
func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// written reports whether people write the package.
func (p pkg) written() bool {
	path := p.path()
	return path != "gen" && !strings.HasPrefix(path, "gen/") &&
		(path != "ent" && !strings.HasPrefix(path, "ent/") || path == "ent/schema")
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,Doc,Imports,TestImports,XTestImports,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

func TestEveryPackageImportsOnlyWhatItsLayerMay(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		path := p.path()
		if !p.written() || path == "ent/schema" || p.Name == "internal_test" || path == "internal" {
			continue
		}
		seen[path] = true
		allowed, known := layers[path]
		if !known {
			t.Errorf("%s is not in the table of layers_test.go: give it a line", path)
			continue
		}
		for _, imported := range p.Imports {
			of, ours := strings.CutPrefix(imported, module)
			if ours && !mayImport(path, allowed, of) {
				t.Errorf("%s must not import %s", path, of)
			}
		}
	}
	for path := range layers {
		if !seen[path] {
			t.Errorf("the table of layers_test.go has a line for %s, which is gone", path)
		}
	}
}

func mayImport(path string, allowed []string, imported string) bool {
	switch table, inEnt := strings.CutPrefix(imported, "ent/"); {
	case strings.HasPrefix(imported, "gen/"):
		return slices.Contains(allowed, "gen") || slices.Contains(allowed, everything)
	case inEnt && entities[table] != "":
		return slices.Contains(owners[path], table)
	case imported == "ent/predicate":
		return len(owners[path]) > 0
	case inEnt:
		// schema, migrate, runtime, intercept, predicate: the machinery under the client
		return path == "internal/store" || strings.HasPrefix(path, "internal/store/")
	}
	return slices.Contains(allowed, imported) || slices.Contains(allowed, everything)
}

func TestEveryTableHasOneOwner(t *testing.T) {
	entries, err := os.ReadDir("../ent/schema")
	require.NoError(t, err)
	owner := map[string]string{}
	for path, tables := range owners {
		for _, table := range tables {
			require.Empty(t, owner[table], "%s has two owners", table)
			owner[table] = path
		}
	}
	for _, e := range entries {
		table := strings.TrimSuffix(e.Name(), ".go")
		if table == "mixin" {
			continue
		}
		require.NotEmpty(t, owner[table], "table %s has no owner in layers_test.go", table)
		require.NotEmpty(t, entities[table], "table %s has no entity in layers_test.go", table)
		delete(owner, table)
	}
	require.Empty(t, owner, "owners of tables that are gone")
}

// A predicate package guards updates and deletes; this guards what needs none: Create, CreateBulk, and the forms that
// take a row or an id.
func TestOnlyTheOwnerWritesATable(t *testing.T) {
	for _, p := range packages(t) {
		if !p.written() || p.path() == "internal/store/storetest" { // seeds workspaces for the tests of all packages
			continue
		}
		for _, file := range p.GoFiles {
			name := filepath.Join(p.Dir, file)
			tree, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			for _, write := range foreignWrites(p.path(), tree) {
				t.Errorf("%s/%s: %s is for the table's owner", p.path(), file, write)
			}
		}
	}
}

func foreignWrites(path string, tree *ast.File) []string {
	var found []string
	ast.Inspect(tree, func(n ast.Node) bool {
		method, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		entity, ok := method.X.(*ast.SelectorExpr)
		if !ok || !isWrite(method.Sel.Name) {
			return true
		}
		for table, name := range entities {
			if entity.Sel.Name == name && !slices.Contains(owners[path], table) {
				found = append(found, name+"."+method.Sel.Name)
			}
		}
		return true
	})
	return found
}

func isWrite(method string) bool {
	for _, prefix := range []string{"Create", "MapCreateBulk", "Update", "Delete"} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

func TestTheWriteCheckSeesAForeignWrite(t *testing.T) {
	tree, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
		func f() { tx.Call.Create().Save(ctx); db.Ent().User.UpdateOneID(id); call.Create(ctx) }`, 0)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"Call.Create", "User.UpdateOneID"}, foreignWrites("internal/api", tree))
	require.ElementsMatch(t, []string{"User.UpdateOneID"}, foreignWrites("internal/call", tree))
}

func TestFencedImportsStayInTheirPackages(t *testing.T) {
	for _, p := range packages(t) {
		if !p.written() {
			continue
		}
		for _, imported := range p.Imports {
			fence := longestFence(imported)
			if fence != "" && !slices.ContainsFunc(fenced[fence], func(may string) bool {
				return p.path() == may || strings.HasPrefix(p.path(), may+"/")
			}) {
				t.Errorf("%s must not import %s: that is for %v", p.path(), imported, fenced[fence])
			}
		}
	}
}

// longestFence finds the entry for an import: itself, or the longest path above it.
func longestFence(imported string) string {
	best := ""
	for fence := range fenced {
		in := imported == fence || strings.HasPrefix(imported, strings.TrimSuffix(fence, "/")+"/")
		if strings.HasSuffix(fence, "/") && imported+"/" == fence {
			in = false // the package itself has a line of its own
		}
		if in && len(fence) > len(best) {
			best = fence
		}
	}
	return best
}

func TestEveryPackageSaysWhatItIsForAndHasAName(t *testing.T) {
	for _, p := range packages(t) {
		if !p.written() || len(p.GoFiles) == 0 {
			continue
		}
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.path())
		}
		if slices.Contains(shapeless, p.Name) {
			t.Errorf("%s: %q says nothing about what is in it", p.path(), p.Name)
		}
	}
}

// Long files are where good projects turn bad; this names them and does not fail.
func TestFilesStayShort(t *testing.T) {
	for _, p := range packages(t) {
		if !p.written() {
			continue
		}
		for _, file := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			require.NoError(t, err)
			generated := strings.HasPrefix(string(text), "// Code generated") || strings.HasSuffix(file, "_templ.go")
			if n := strings.Count(string(text), "\n"); n > 500 && !generated {
				t.Logf("%s/%s has %d lines", p.path(), file, n)
			}
		}
	}
}
