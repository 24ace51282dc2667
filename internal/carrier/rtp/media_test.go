package rtp_test

import (
	"testing"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/carriertest"
)

func TestMediaKeepsThePromises(t *testing.T) {
	bubble(t, func(t *testing.T) {
		carriertest.Media(t, func(t *testing.T) carriertest.Line {
			c := prepare(t)
			if err := c.s.Start(params()); err != nil {
				t.Fatal(err)
			}
			return carriertest.Line{
				Media: c.s.Media(),
				Marks: func() (marks []carrier.Event) {
					wait(0)
					turns.Lock()
					defer turns.Unlock()
					marks, c.events = c.events, nil
					return marks
				},
				End: func() { c.s.Close(over) },
			}
		})
	})
}
