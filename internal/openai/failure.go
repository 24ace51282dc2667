package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// What a failure means to the caller; compare with errors.Is. A context that the caller canceled comes out as itself.
var (
	// ErrUnavailable: the server is busy, broken, slow or out of reach. Later may be better.
	ErrUnavailable = errors.New("the model server is unavailable")
	// ErrRefused: the server or the model will not do this request: bad key, unknown model, too long, filtered.
	ErrRefused = errors.New("the model server refused the request")
	// ErrMalformed: the model's answer does not satisfy the schema, also when asked to repair it.
	ErrMalformed = errors.New("the model gave a malformed answer")
)

// Error is a failed request.
type Error struct {
	// Kind is ErrUnavailable, ErrRefused or ErrMalformed.
	Kind error
	// Status is the server's HTTP status; 0 without an answer.
	Status int
	// Code is the server's own code or type of the error, when it looks like an identifier.
	Code string
	// RetryAfter is what the server asked for, when it was too long to wait here.
	RetryAfter time.Duration
	// Detail are the server's words, cut to 500 bytes and without the key. They can quote the prompt: show them to the
	// operator who asks, and do not log them.
	Detail string
	// Cause is why there was no answer, or none that can be used.
	Cause error

	param string
}

func (e *Error) Error() string {
	text := e.Kind.Error()
	if e.Status >= 300 {
		text += fmt.Sprintf(": HTTP %d", e.Status)
	}
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap lets errors.Is find the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// hopeless are codes behind which no other format, pause or attempt helps.
var hopeless = map[string]bool{
	"insufficient_quota": true, "invalid_api_key": true, "model_not_found": true, "context_length_exceeded": true,
	"string_above_max_length": true, "content_policy_violation": true, "content_filter": true,
}

// errIdle ends a stream that has stopped moving.
var errIdle = errors.New("nothing came for too long")

// failure turns what go-openai returned into an Error, or into the caller's own cancellation.
func (c *Client) failure(caller context.Context, err error, note *reply) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if idle := context.Cause(caller); errors.Is(idle, errIdle) {
		err = errIdle
	} else if errors.Is(caller.Err(), context.Canceled) {
		return fmt.Errorf("asking the model: %w", caller.Err())
	}
	e := &Error{Kind: ErrUnavailable, Status: note.status, RetryAfter: note.retryAfter}
	var api *goopenai.APIError
	var request *goopenai.RequestError
	switch {
	case errors.As(err, &request): // before APIError, of which it can wrap an empty one
		e.Detail = string(request.Body)
	case errors.As(err, &api):
		e.Code, e.Detail = identifier(api.Code, api.Type), api.Message
		if api.Param != nil {
			e.param = *api.Param
		}
	case errors.Is(err, errTooLarge):
		e.Kind, e.Cause = ErrMalformed, errTooLarge
	default:
		e.Cause = cause(err)
	}
	if note.status >= 300 && !passing(note.status) || hopeless[e.Code] || isOurs(err) {
		e.Kind = ErrRefused
	}
	e.Detail = c.clean(e.Detail)
	return e
}

// passing reports whether a status can be another one a little later.
func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}

// isOurs reports go-openai's own refusals, made before anything is sent.
func isOurs(err error) bool {
	for _, own := range []error{
		goopenai.ErrChatCompletionInvalidModel, goopenai.ErrReasoningModelMaxTokensDeprecated,
		goopenai.ErrReasoningModelLimitationsOther, goopenai.ErrReasoningModelLimitationsLogprobs,
		goopenai.ErrReasoningEffortUnsupported, goopenai.ErrReasoningToolsRequireResponses,
		goopenai.ErrReasoningSamplingUnsupported,
	} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// cause drops what could quote an answer: JSON errors keep their place only.
func cause(err error) error {
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	var sent *url.Error
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("the answer is not JSON at byte %d", syntax.Offset)
	case errors.As(err, &mistyped):
		return fmt.Errorf("the answer has a wrong type at byte %d", mistyped.Offset)
	case errors.As(err, &sent):
		return sent.Err
	}
	return err
}

// identifier takes the first that looks like one; servers put numbers and sentences there too.
func identifier(texts ...any) string {
	for _, text := range texts {
		s, ok := text.(string)
		if ok && s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
			return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return s
		}
	}
	return ""
}

// clean cuts a server's words and takes the key out, which some servers quote.
func (c *Client) clean(text string) string {
	if c.config.Key != "" {
		text = strings.ReplaceAll(text, c.config.Key, "[key]")
	}
	return strings.ToValidUTF8(text[:min(len(text), 500)], "")
}
