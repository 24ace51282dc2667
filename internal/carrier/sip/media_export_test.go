package sip

import (
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

// SoundPort is where a leg's sound comes in.
func (c *Carrier) SoundPort(l carrier.Leg) uint16 { return l.(*leg).stream.Port() }

// SoundStats are of a leg's sound.
func (c *Carrier) SoundStats(l carrier.Leg) rtp.Stats { return l.(*leg).stream.Stats() }
