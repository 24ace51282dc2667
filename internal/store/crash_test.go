package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// crashVariable tells the test binary that it is the process to be killed, and on which database it works.
const crashVariable = "STORE_TEST_CRASH"

func TestMain(m *testing.M) {
	if config := os.Getenv(crashVariable); config != "" {
		writeForever(config)
	}
	goleak.VerifyTestMain(m)
}

// writeForever commits an agent with a job, prints its id, and so on until it is killed.
func writeForever(config string) {
	ctx := context.Background()
	var c struct {
		DataDir, DatabaseURL string
		Workspace            uuid.UUID
	}
	must(json.Unmarshal([]byte(config), &c))
	db, err := store.Open(ctx, store.Config{DataDir: c.DataDir, DatabaseURL: c.DatabaseURL, Log: slog.New(slog.DiscardHandler)})
	must(err)
	ctx = store.WithWorkspace(ctx, c.Workspace)
	for {
		id := store.NewID()
		must(db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			if _, err := newAgent(tx.Client, "kept").SetID(id).Save(ctx); err != nil {
				return err
			}
			return tx.Enqueue(ctx, ping{1}, nil)
		}))
		fmt.Println(id)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestWhatWasAcknowledgedSurvivesKill9(t *testing.T) {
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		db := migrated(t, c)
		ctx, id := storetest.Workspace(t, db)
		config, err := json.Marshal(map[string]any{"DataDir": c.DataDir, "DatabaseURL": c.DatabaseURL, "Workspace": id})
		require.NoError(t, err)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashVariable+"="+string(config))
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())

		var acknowledged []uuid.UUID
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			id, err := uuid.Parse(lines.Text())
			if err != nil {
				break // the line that the kill cut
			}
			if acknowledged = append(acknowledged, id); len(acknowledged) == 30 {
				require.NoError(t, child.Process.Kill())
			}
		}
		require.Error(t, child.Wait())
		require.GreaterOrEqual(t, len(acknowledged), 30)

		agents, err := db.Ent().Agent.Query().IDs(ctx)
		require.NoError(t, err)
		require.Subset(t, agents, acknowledged)
		require.Equal(t, len(agents), countJobs(t, db), "each row has its job")
	})
}
