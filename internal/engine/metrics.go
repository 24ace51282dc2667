package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/conversation"
)

// Metrics are what a process measures of its calls.
type Metrics struct {
	part         *prometheus.HistogramVec
	voiceToVoice prometheus.Histogram
	interrupted  prometheus.Counter
	ended        *prometheus.CounterVec
	held         prometheus.Gauge
	missed       prometheus.Counter
}

// Buckets in seconds: where people begin to notice a pause, and where they hang up.
var buckets = []float64{0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.3, 1.6, 2, 3, 5, 8}

// NewMetrics registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		part: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "callwright_turn_part_seconds", Help: "How long the parts of an agent's turn took, one after the other.", Buckets: buckets,
		}, []string{"part"}),
		voiceToVoice: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "callwright_turn_voice_to_voice_seconds", Help: "From the end of the caller's voice to the agent's first sound on the line.", Buckets: buckets,
		}),
		interrupted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "callwright_turns_interrupted_total", Help: "Agents' turns that the other side spoke into.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callwright_calls_ended_total", Help: "Calls that this process held, by how they ended.",
		}, []string{"status", "reason"}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "callwright_calls_held", Help: "Calls that this process holds.",
		}),
	}
	m.missed = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "callwright_sound_missed_seconds_total", Help: "Callers' sound that was lost because this process was late to take it.",
	})
	reg.MustRegister(m.part, m.voiceToVoice, m.interrupted, m.ended, m.held, m.missed)
	return m
}

// turn measures a turn.
func (m *Metrics) turn(t conversation.Turn) {
	if t.Interrupted {
		m.interrupted.Inc()
	}
	d := t.Timing
	if d == nil {
		return
	}
	for name, took := range map[string]time.Duration{
		"endpoint": d.Endpoint, "transcription": d.Transcription, "first_token": d.FirstToken,
		"first_sentence": d.FirstSentence, "first_sound": d.FirstSound, "playout": d.Playout,
	} {
		if took > 0 {
			m.part.WithLabelValues(name).Observe(took.Seconds())
		}
	}
	if d.VoiceToVoice > 0 {
		m.voiceToVoice.Observe(d.VoiceToVoice.Seconds())
	}
}

func (m *Metrics) end(o call.Outcome) { m.ended.WithLabelValues(string(o.Status), o.Reason).Inc() }
