package main_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
)

func TestBenchMeasuresRequests(t *testing.T) {
	figures, err := main.BenchRequests(t.Context())
	require.NoError(t, err)
	require.Len(t, figures, 3)
	for _, f := range figures {
		require.Equal(t, 60, f.Samples, "%s: every call was dialed", f.Name)
		require.Positive(t, f.P50, f.Name)
		require.GreaterOrEqual(t, f.P99, f.P50, f.Name)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = main.BenchRequests(stopped)
	require.Error(t, err)
}
