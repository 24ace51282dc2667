package server

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/callwright/callwright/internal/fault"
)

// storable refuses requests with a NUL character in any text: PostgreSQL can not hold one, and what is 400 on REST is no
// 500 elsewhere. Invalid UTF-8 is refused by protobuf itself. CONTRACT.md §1, Strings.
func storable(ctx context.Context, c *rpc) error {
	if err := checkText(c.req); err != nil {
		return err
	}
	return c.next(ctx)
}

func checkText(m any) error {
	p, ok := m.(proto.Message)
	if !ok {
		return nil
	}
	if at := findNUL(p.ProtoReflect()); at != nil {
		return fault.Invalidf("%s must not contain NUL characters", at.TextName())
	}
	return nil
}

// findNUL is the first field that holds a NUL character, or nil.
func findNUL(m protoreflect.Message) (at protoreflect.FieldDescriptor) {
	bad := func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() == protoreflect.StringKind:
			if strings.IndexByte(v.String(), 0) >= 0 {
				at = fd
			}
		case fd.Message() != nil:
			at = findNUL(v.Message())
		}
		return at != nil
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				if strings.IndexByte(k.String(), 0) >= 0 {
					at = fd
				}
				return at == nil && !bad(fd.MapValue(), v)
			})
			if at == fd.MapValue() && at != nil {
				at = fd
			}
		case fd.IsList():
			for i := 0; i < v.List().Len() && !bad(fd, v.List().Get(i)); i++ {
			}
		default:
			bad(fd, v)
		}
		return at == nil
	})
	return at
}
