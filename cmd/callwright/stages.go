package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// part is something that runs until its context ends, and has finished its work when it returns.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// runStages runs all parts until ctx ends or one of them fails, then stops the stages from the first to the last: the
// parts of one stage together, the next stage only when they have returned, because they may still need it.
func runStages(ctx context.Context, stages ...[]part) error {
	failed, fail := context.WithCancel(context.WithoutCancel(ctx))
	defer fail()
	var mu sync.Mutex
	var errs []error
	stops := make([]func(), len(stages))
	for i, stage := range stages {
		stageCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		var running sync.WaitGroup
		for _, p := range stage {
			running.Go(func() {
				err := p.run(stageCtx)
				if err == nil && ctx.Err() == nil && stageCtx.Err() == nil {
					err = errors.New("ended by itself")
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					mu.Lock()
					errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
					mu.Unlock()
					fail()
				}
			})
		}
		stops[i] = func() { cancel(); running.Wait() }
	}
	select {
	case <-ctx.Done():
	case <-failed.Done():
	}
	for _, stop := range stops {
		stop()
	}
	return errors.Join(errs...)
}

// signals gives a context that ends with the first SIGINT or SIGTERM, and one that ends with the second. A third one
// kills the process, as without us.
func signals(ctx context.Context, log *slog.Logger) (drain, now context.Context, release func()) {
	drain, stopDrain := context.WithCancel(ctx)
	now, stopNow := context.WithCancel(context.WithoutCancel(ctx))
	got := make(chan os.Signal, 2)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case <-got:
			log.Info("stopping: calls in progress go on; a second signal ends them")
			stopDrain()
		case <-drain.Done():
		}
		select {
		case <-got:
			log.Warn("stopping now")
			signal.Stop(got)
			stopNow()
		case <-now.Done():
		}
	}()
	return drain, now, func() { signal.Stop(got); stopDrain(); stopNow() }
}
