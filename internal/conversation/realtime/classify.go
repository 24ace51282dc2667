package realtime

import (
	"context"
	"fmt"
	"strings"

	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

var _ conversation.Classifier = (*Speech)(nil)

// Classify is that of conversation.Classifier: the model is asked in writing, on a connection of its own, so that the
// talk's is not disturbed.
func (s *Speech) Classify(ctx context.Context, _ conversation.Script, heard string) (string, error) {
	conn, err := s.client.Connect(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	for _, e := range []object{
		{"type": "session.update", "session": object{
			"type": "realtime", "output_modalities": []string{"text"},
			"instructions": conversation.ClassifyPrompt + "\nAnswer with that one word and nothing else.",
		}},
		message(conversation.RoleUser, heard),
		{"type": "response.create", "event_id": "classify", "response": object{}},
	} {
		if err := conn.Send(e); err != nil {
			return "", err
		}
	}
	var answer strings.Builder
	for {
		select {
		case e, ok := <-conn.Events():
			switch {
			case !ok:
				return "", conn.Err()
			case e.Type == openai.RealtimeFailed:
				return "", e.Error.AsError()
			case e.Type == openai.RealtimeSaidText && answer.Len() < 100:
				answer.WriteString(e.Text)
			case e.Type == openai.RealtimeResponseDone:
				return word(answer.String())
			}
		case <-ctx.Done():
			return "", fmt.Errorf("classify the first words: %w", ctx.Err())
		}
	}
}

// word takes quotes and a full stop off the answer.
func word(answer string) (string, error) {
	answer = strings.Trim(strings.ToLower(strings.TrimSpace(answer)), "\"'.` \n")
	for _, class := range conversation.Classes {
		if answer == class {
			return class, nil
		}
	}
	return "", fmt.Errorf("the model answered with none of %v", conversation.Classes)
}
