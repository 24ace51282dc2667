// Command newmigration writes the migrations that take both databases from the last ones to the ent schema:
//
//	go run ./internal/store/newmigration add_tags
//
// Add foreign keys to the new files by hand (package migrations says how), then run it again with -seal and no name.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/callwright/callwright/internal/store/migrations"
	"github.com/callwright/callwright/internal/store/storetest/postgres"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "internal/store/migrations", "folder with one folder for each database")
	seal := flag.Bool("seal", false, "only write the checksums after files were edited")
	flag.Parse()
	if err := run(context.Background(), *dir, *seal, flag.Arg(0)); err != nil {
		log.Fatal("newmigration: ", err)
	}
}

func run(ctx context.Context, dir string, seal bool, name string) error {
	if !seal && name == "" {
		return errors.New("give the name of the migration, such as add_tags")
	}
	for _, d := range []string{dialect.SQLite, dialect.Postgres} {
		folder := filepath.Join(dir, migrations.Folder(d))
		if seal {
			if err := migrations.Seal(folder); err != nil {
				return fmt.Errorf("%s: %w", folder, err)
			}
			continue
		}
		err := diff(ctx, d, folder, name)
		switch {
		case errors.Is(err, migrations.ErrNoPlan):
			fmt.Fprintln(os.Stderr, folder+": nothing to do")
		case err != nil:
			return fmt.Errorf("%s: %w", folder, err)
		}
	}
	return nil
}

// diff makes an empty database for the comparison and drops it.
func diff(ctx context.Context, d, folder, name string) error {
	driver, url := "sqlite", "file:dev?mode=memory&cache=shared&_pragma=foreign_keys(1)"
	if d == dialect.Postgres {
		driver = "pgx"
		server, err := postgres.Server()
		if err != nil {
			return err
		}
		var drop func() error
		if url, drop, err = server.Create(ctx, ""); err != nil {
			return err
		}
		defer drop()
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		return err
	}
	defer db.Close()
	return migrations.Diff(ctx, entsql.OpenDB(d, db), folder, name)
}
