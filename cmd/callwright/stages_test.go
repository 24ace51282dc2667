package main_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
)

// diary notes what happens in which order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// part runs until its context ends, and then works for a second more.
func (d *diary) part(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		d.note(name + " told")
		time.Sleep(time.Second)
		d.note(name + " ended")
		return ctx.Err()
	}
}

func TestStagesStopOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		err := main.RunStages(ctx,
			[]func(context.Context) error{d.part("server"), d.part("server")},
			[]func(context.Context) error{d.part("jobs")},
			[]func(context.Context) error{d.part("identity")})
		require.NoError(t, err)
		require.Equal(t, []string{"server told", "server told", "server ended", "server ended", "jobs told", "jobs ended",
			"identity told", "identity ended"}, d.lines)
		require.Equal(t, time.Minute+3*time.Second, time.Since(start), "the parts of a stage stop together")
	})
}

func TestAPartThatFailsStopsAllInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, broken := range map[string]func(context.Context) error{
			"fails":          func(context.Context) error { return errors.New("broken pipe") },
			"ends by itself": func(context.Context) error { return nil },
		} {
			var d diary
			err := main.RunStages(t.Context(),
				[]func(context.Context) error{d.part("server")},
				[]func(context.Context) error{broken},
				[]func(context.Context) error{d.part("identity")})
			require.ErrorContains(t, err, "part: ", name)
			require.Equal(t, []string{"server told", "server ended", "identity told", "identity ended"}, d.lines, name)
		}
	})
}

// The second signal ends parts on its own way, which may come before their stage is told to stop.
func TestAPartThatEndsWithEverythingIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, main.RunStages(ctx, []func(context.Context) error{
			func(context.Context) error { <-ctx.Done(); return nil },
		}))
	})
}
