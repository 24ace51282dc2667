package main

import "context"

// Run is the program, for tests.
var Run = run

// RunStages runs parts that are functions alone.
func RunStages(ctx context.Context, stages ...[]func(context.Context) error) error {
	named := make([][]part, len(stages))
	for i, stage := range stages {
		for _, run := range stage {
			named[i] = append(named[i], part{"part", run})
		}
	}
	return runStages(ctx, named...)
}

// BenchRequests is the part of bench that needs the whole server.
var BenchRequests = benchRequests
