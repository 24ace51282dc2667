package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unscopedConflicts lists the upserts of a source file whose conflict target lacks workspace_id. Such an upsert writes
// over a row of another workspace: the row that is in the way is found by the index, not by the scope.
func unscopedConflicts(fset *token.FileSet, file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "OnConflictColumns" && sel.Sel.Name != "OnConflict" {
			return true
		}
		scoped := false
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					scoped = scoped || n.Name == "FieldWorkspaceID"
				case *ast.BasicLit:
					scoped = scoped || n.Value == `"workspace_id"`
				}
				return true
			})
		}
		if !scoped {
			found = append(found, fset.Position(call.Pos()).String())
		}
		return true
	})
	return found
}

func TestConflictTargetsIncludeTheWorkspace(t *testing.T) {
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || d.IsDir() {
			if rel == "ent" || rel == "gen" || rel == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || rel == filepath.Join("internal", "store", "conflict_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // the compiler says so better
		}
		require.Empty(t, unscopedConflicts(fset, file), "add workspace_id to the conflict target")
		return nil
	}))
}

func TestTheConflictCheckFindsWhatItLooksFor(t *testing.T) {
	for source, bad := range map[string]int{
		`c.Tag.Create().OnConflictColumns("id").UpdateNewValues().Exec(ctx)`:                                         1,
		`c.Tag.Create().OnConflictColumns(tag.FieldName).Ignore().Exec(ctx)`:                                         1,
		`c.Tag.Create().OnConflict().DoNothing().Exec(ctx)`:                                                          1,
		`c.Tag.Create().OnConflict(sql.ConflictColumns(tag.FieldID)).Exec(ctx)`:                                      1,
		`c.Tag.Create().OnConflict(sql.ConflictColumns(tag.FieldWorkspaceID, tag.FieldName), sql.DoNothing())`:       0,
		`c.Tag.CreateBulk(b...).OnConflictColumns(tag.FieldWorkspaceID, tag.FieldName, tag.FieldEmoji).Ignore().X()`: 0,
		`c.Tag.Create().OnConflictColumns("workspace_id", "name").Ignore()`:                                          0,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x\nfunc f() {\n"+source+"\n}", 0)
		require.NoError(t, err)
		require.Len(t, unscopedConflicts(fset, file), bad, source)
	}
}
