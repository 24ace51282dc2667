package sandbox_test

import (
	"testing"
	"testing/synctest"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/carriertest"
	"github.com/callwright/callwright/internal/carrier/sandbox"
)

func TestMediaKeepsThePromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		carriertest.Media(t, func(t *testing.T) carriertest.Line {
			leg := dial(t, sandbox.New(sandbox.Config{}), person)
			return carriertest.Line{
				Media: leg.Media(),
				Marks: func() (marks []carrier.Event) {
					for _, e := range events(leg) {
						if e.Kind == carrier.EventMark {
							marks = append(marks, e)
						}
					}
					return marks
				},
				End: func() { _ = leg.Hangup(t.Context(), carrier.CauseNormal) },
			}
		})
	})
}
