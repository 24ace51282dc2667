package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// Delta is one piece of an answer: text, or a whole tool call, or the end.
type Delta struct {
	Text string
	Call *ToolCall
	// Finish is set on the last piece only: stop, length, tool_calls, content_filter, or another word of the server.
	Finish string
}

// drainTime is how long a server may take from its last word to the end of the stream.
const drainTime = time.Second

// Stream continues a chat and gives the answer as it is written; tool calls come whole, behind the text. An error is the
// last thing that comes, and what came before it stands. Leaving the loop or canceling ctx drops the connection, which is
// how a barge-in stops the model. A stream that ends without a sign of completion is ErrUnavailable.
func (c *Client) Stream(ctx context.Context, chat Chat) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		idle := time.AfterFunc(c.config.IdleTimeout, func() { cancel(errIdle) })
		defer idle.Stop()
		s, err := c.open(ctx, chat.request(c.config.Model))
		if err != nil {
			yield(Delta{}, err)
			return
		}
		defer s.in.Close()
		for {
			deltas, err := s.next()
			if err != nil && !s.finished {
				yield(Delta{}, c.failure(ctx, err, s.note))
			}
			if err != nil {
				return // what follows the end, if only a broken connection, changes nothing
			}
			idle.Stop() // the listener may take its time; that is back-pressure
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
			if s.finished {
				idle.Reset(min(drainTime, c.config.IdleTimeout))
			} else {
				idle.Reset(c.config.IdleTimeout)
			}
		}
	}
}

// open sends the request until the server answers with a stream. There is no second try once something came.
func (c *Client) open(ctx context.Context, request goopenai.ChatCompletionRequest) (*stream, error) {
	s := new(stream)
	err := c.retry(ctx, min(c.config.Attempts, 2), func(noted context.Context) error {
		in, err := c.server.CreateChatCompletionStream(noted, request)
		for err != nil && relax(&request, err) {
			in, err = c.server.CreateChatCompletionStream(noted, request)
		}
		s.in, s.note = in, noted.Value(replyKey{}).(*reply)
		return err
	})
	return s, err
}

// stream is an answer under way.
type stream struct {
	in       *goopenai.ChatCompletionStream
	note     *reply
	thoughts thoughts
	calls    calls
	finish   string
	finished bool
}

// chunk is one event: what the API documents, the error that some servers send in its place, and the message that comes
// from servers that do not stream.
type chunk struct {
	Choices []struct {
		Delta        goopenai.ChatCompletionStreamChoiceDelta `json:"delta"`
		Message      goopenai.ChatCompletionStreamChoiceDelta `json:"message"`
		FinishReason string                                   `json:"finish_reason"`
	} `json:"choices"`
	Error json.RawMessage `json:"error"`
}

// next reads one event. At the end of the answer it gives what was held back and sets finished.
func (s *stream) next() ([]Delta, error) {
	raw, err := s.in.RecvRaw()
	if errors.Is(err, io.EOF) && !s.finished && (s.finish != "" || s.note.done) {
		return s.end()
	}
	if errors.Is(err, io.EOF) && !s.finished {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		api := new(goopenai.APIError)
		if json.Unmarshal(c.Error, api) != nil {
			api.Message = string(c.Error)
		}
		return nil, api
	}
	if len(c.Choices) == 0 || s.finished {
		return nil, nil // usage, filters' verdicts, keep-alives
	}
	choice := c.Choices[0]
	var deltas []Delta
	if text := s.thoughts.drop(choice.Delta.Content + choice.Message.Content); text != "" {
		deltas = append(deltas, Delta{Text: text})
	}
	s.calls.add(choice.Delta.ToolCalls)
	s.calls.add(choice.Message.ToolCalls)
	if choice.FinishReason == "" {
		return deltas, nil
	}
	s.finish = choice.FinishReason
	rest, err := s.end()
	return append(deltas, rest...), err
}

// end gives what was held back, and the end.
func (s *stream) end() ([]Delta, error) {
	var deltas []Delta
	if text := s.thoughts.rest(); text != "" {
		deltas = append(deltas, Delta{Text: text})
	}
	for _, call := range s.calls.list {
		if len(call.Arguments) == 0 {
			call.Arguments = json.RawMessage("{}")
		}
		if call.Name == "" || !json.Valid(call.Arguments) {
			return nil, &Error{Kind: ErrMalformed, Cause: errors.New("a tool call that can not be read")}
		}
		deltas = append(deltas, Delta{Call: call})
	}
	s.finished = true
	return append(deltas, Delta{Finish: or(s.finish, "stop")}), nil
}
