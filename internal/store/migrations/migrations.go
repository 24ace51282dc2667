// Package migrations holds the versioned SQL of the tables, one folder for each database, and makes new files of it from
// the difference to the ent schema.
//
// Files are never changed once released, and lead only forward: the way back is a backup. What ent can not express is
// added to a new file by hand before its first commit: the foreign keys, whose names end in _same_ws (the difference
// leaves such names alone). A key between owned tables contains workspace_id on both sides, so that no row can point into
// another workspace. On SQLite a foreign key can only be written inside CREATE TABLE, and a change that rebuilds a table
// must repeat its keys (and triggers, where the table has some) and begin with "-- +goose NO TRANSACTION", or dropping the old table deletes what refers to it.
// Keep changes additive.
package migrations

import (
	"context"
	"embed"
	"io/fs"
	"strings"
	"text/template"
	"time"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/schema"
	"ariga.io/atlas/sql/sqltool"
	"entgo.io/ent/dialect"
	entschema "entgo.io/ent/dialect/sql/schema"

	entmigrate "github.com/callwright/callwright/ent/migrate"
)

//go:embed sqlite postgres
var files embed.FS

// Folder is the name of a dialect's folder.
func Folder(d string) string {
	if d == dialect.Postgres {
		return "postgres"
	}
	return "sqlite"
}

// Files are the migrations of a dialect, in goose's form.
func Files(d string) fs.FS {
	sub, err := fs.Sub(files, Folder(d))
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}

var (
	fileName = template.Must(template.New("").Funcs(template.FuncMap{
		"now": func() string { return time.Now().UTC().Format("20060102150405") },
	}).Parse("{{ now }}_{{ .Name }}.sql"))
	fileText = template.Must(template.New("").Parse("-- +goose Up\n{{ range .Changes }}{{ .Cmd }};\n{{ end }}"))
)

// ErrNoPlan is the error of [Diff] when the migrations lead to the schema already.
var ErrNoPlan = migrate.ErrNoPlan

// Diff writes the file dir/TIME_name.sql that takes a database with all migrations of dir to the ent schema. dev is an
// empty database of the dialect in which it tries the migrations; it is left empty.
func Diff(ctx context.Context, dev dialect.Driver, dir, name string) error {
	folder, err := sqltool.NewGooseDir(dir)
	if err != nil {
		return err
	}
	form, err := migrate.NewTemplateFormatter(fileName, fileText)
	if err != nil {
		return err
	}
	m, err := entschema.NewMigrate(dev,
		entschema.WithDir(folder),
		entschema.WithMigrationMode(entschema.ModeReplay),
		entschema.WithFormatter(form),
		entschema.WithErrNoPlan(true),
		entschema.WithDropColumn(true),
		entschema.WithDropIndex(true),
		entschema.WithDiffHook(keepForeignKeys),
	)
	if err != nil {
		return err
	}
	return m.NamedDiff(ctx, name, entmigrate.Tables...)
}

// Seal writes atlas.sum, the checksum of the files, after one was edited by hand.
func Seal(dir string) error {
	folder, err := sqltool.NewGooseDir(dir)
	if err != nil {
		return err
	}
	sum, err := folder.Checksum()
	if err != nil {
		return err
	}
	return migrate.WriteSumFile(folder, sum)
}

// keepForeignKeys takes the hand-written foreign keys out of a plan that would drop them.
func keepForeignKeys(next entschema.Differ) entschema.Differ {
	return entschema.DiffFunc(func(current, desired *schema.Schema) ([]schema.Change, error) {
		changes, err := next.Diff(current, desired)
		if err != nil {
			return nil, err
		}
		kept := changes[:0]
		for _, c := range changes {
			if m, ok := c.(*schema.ModifyTable); ok {
				m.Changes = without(m.Changes)
				if len(m.Changes) == 0 {
					continue
				}
			}
			kept = append(kept, c)
		}
		return kept, nil
	})
}

func without(changes []schema.Change) []schema.Change {
	kept := changes[:0]
	for _, c := range changes {
		if d, ok := c.(*schema.DropForeignKey); ok && strings.HasSuffix(d.F.Symbol, "_same_ws") {
			continue
		}
		kept = append(kept, c)
	}
	return kept
}
