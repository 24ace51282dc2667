// Package hosted is speech by servers with the OpenAI API, self-hosted or not: ears over /audio/transcriptions, a brain
// over /chat/completions, a voice over /audio/speech, joined to a conversation.Cascade.
//
// # Late and broken servers
//
// Everything is asked for in the order of relay.go: the server, the server again over a fresh connection, the fallback.
// The next is asked when the one before has failed. When it has only given nothing for some time, the fallback is asked
// beside it, and the first that has something to give goes on alone. What breaks off in the middle of a turn is taken up
// again where it broke. If all of that fails, the conversation apologises.
//
// # Early
//
// The other side's words are transcribed in each of its pauses, long before the pause is an end; the text decides how
// long the pause has to be, and the model thinks about it already.
package hosted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

// Config of the speech. A fallback without URL is none.
type Config struct {
	STT, STTFallback openai.Config
	LLM, LLMFallback openai.Config
	TTS, TTSFallback openai.Config
	// Voice is the speaker of agents that name none or one that the server does not know; FallbackVoice is the fallback's.
	Voice, FallbackVoice string
	// Late is after how long without anything the fallback is asked for the text of an utterance or the sound of a
	// sentence; a model has twice as long, and so has each where there is no fallback and the same server is asked again.
	// Defaults to 1.5 s.
	Late time.Duration
	// CacheBytes bounds the sound kept of greetings and other lines known in advance. Defaults to 32 MB, half an hour.
	CacheBytes int
	// Log hears of servers that fail. Defaults to slog.Default().
	Log *slog.Logger
}

// Speech is the cascade with its connections. Close ends them.
type Speech struct {
	conversation.Cascade
	clients []*openai.Client
}

// New makes the speech without contacting any server.
func New(c Config) (*Speech, error) {
	c.Late = cmp.Or(c.Late, 1500*time.Millisecond)
	c.CacheBytes = cmp.Or(c.CacheBytes, 32<<20)
	c.Log = cmp.Or(c.Log, slog.Default())
	s := &Speech{}
	var errs []error
	open := func(what string, o openai.Config, optional bool) *openai.Client {
		if optional && o.URL == "" {
			return nil
		}
		// One attempt: what comes after it is decided here. Nobody waits long on a telephone.
		o.Attempts = 1
		o.IdleTimeout = cmp.Or(o.IdleTimeout, 6*time.Second)
		o.MaxAnswer = cmp.Or(o.MaxAnswer, 16<<20)
		client, err := openai.New(o)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
			return nil
		}
		s.clients = append(s.clients, client)
		return client
	}
	ears := servers{open("transcription", c.STT, false), open("fallback for transcription", c.STTFallback, true), c.Log}
	// A model may think for a while, and the next one is asked meanwhile.
	c.LLM.IdleTimeout, c.LLMFallback.IdleTimeout = cmp.Or(c.LLM.IdleTimeout, 15*time.Second), cmp.Or(c.LLMFallback.IdleTimeout, 15*time.Second)
	brain := servers{open("language model", c.LLM, false), open("fallback for the language model", c.LLMFallback, true), c.Log}
	voice := servers{open("speech", c.TTS, false), open("fallback for speech", c.TTSFallback, true), c.Log}
	if len(errs) > 0 {
		s.Close()
		return nil, errors.Join(errs...)
	}
	s.Cascade = conversation.Cascade{
		Ears:  &Ears{servers: ears, late: c.Late},
		Brain: &Brain{servers: brain, late: 2 * c.Late},
		Voice: &Voice{servers: voice, late: c.Late, voice: c.Voice, fallbackVoice: c.FallbackVoice, cache: newCache(c.CacheBytes)},
	}
	return s, nil
}

// Close ends idle connections.
func (s *Speech) Close() {
	for _, c := range s.clients {
		c.Close()
	}
}

// servers are those for one part.
type servers struct {
	first, fallback *openai.Client
	log             *slog.Logger
}

// Connect opens a connection, as conversation.Warmer.
func (s servers) Connect(ctx context.Context) { _ = s.first.Connect(ctx) } // a hint
