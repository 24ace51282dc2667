package api

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// texts is an enum in both directions, made from the (text) option of its values: rules know the texts of the
// specification, gRPC the numbers.
type texts[E protoreflect.Enum] struct {
	byText   map[string]E
	byNumber map[protoreflect.EnumNumber]string
}

func textsOf[E interface {
	~int32
	protoreflect.Enum
}]() texts[E] {
	var zero E
	t := texts[E]{map[string]E{}, map[protoreflect.EnumNumber]string{}}
	values := zero.Descriptor().Values()
	for i := range values.Len() {
		v := values.Get(i)
		if text, _ := proto.GetExtension(v.Options(), callwrightv1.E_Text).(string); text != "" {
			t.byText[text] = E(v.Number())
			t.byNumber[v.Number()] = text
		}
	}
	return t
}

// number is the value of a text; the unspecified value when there is none.
func (t texts[E]) number(text string) E { return t.byText[text] }

// optional is number for a text that may be absent.
func (t texts[E]) optional(text *string) *E {
	if text == nil {
		return nil
	}
	e := t.byText[*text]
	return &e
}

// read is the text of the value in a request's field: empty for the unspecified one. Numbers without a name, which only
// gRPC can send, are refused.
func (t texts[E]) read(field string, e E) (string, error) {
	text := t.byNumber[e.Number()]
	if text == "" && e.Number() != 0 {
		return "", fault.Invalidf("%s must be one of %s", field, strings.Join(slices.Sorted(maps.Keys(t.byText)), ", "))
	}
	return text, nil
}
