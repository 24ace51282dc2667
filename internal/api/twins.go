package api

import (
	"fmt"
	"reflect"
	"strings"
)

// twins copies between a generated message M and the struct R in which its rule package takes the same fields. Fields
// belong together by their JSON name, which the generator and the rules both take from the proto. An agent has some
// eighty of them: said once more by hand, one would be forgotten.
type twins[M, R any] struct{ pairs []pair }

type pair struct {
	message, rule int
	// The rules count in int, messages in int32.
	narrow bool
}

// twinsOf pairs all fields of R with fields of M, and all fields of M but the given ones with fields of R. It panics when
// one has no twin: a field was added to one side only.
func twinsOf[M, R any](service ...string) twins[M, R] {
	m, r := fieldsOf[M](), fieldsOf[R]()
	for _, name := range service {
		delete(m, name)
	}
	var t twins[M, R]
	for name, f := range r {
		twin, ok := m[name]
		p := pair{message: twin.Index[0], rule: f.Index[0]}
		switch {
		case ok && twin.Type == f.Type:
		case ok && twin.Type == reflect.TypeFor[*int32]() && f.Type == reflect.TypeFor[*int]():
			p.narrow = true
		default:
			panic(fmt.Sprintf("api: %s of %T has no twin of its type in %T", name, *new(R), *new(M)))
		}
		t.pairs = append(t.pairs, p)
		delete(m, name)
	}
	for name := range m {
		panic(fmt.Sprintf("api: %s of %T has no twin in %T", name, *new(M), *new(R)))
	}
	return t
}

func fieldsOf[T any]() map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			all[name] = t.Field(i)
		}
	}
	return all
}

// rule is what a message says. The two share what their pointers point at.
func (t twins[M, R]) rule(m *M) R {
	var r R
	to := reflect.ValueOf(&r).Elem()
	if m == nil {
		return r
	}
	from := reflect.ValueOf(m).Elem()
	for _, p := range t.pairs {
		f := from.Field(p.message)
		if p.narrow {
			to.Field(p.rule).Set(reflect.ValueOf(optionalInt(f.Interface().(*int32))))
		} else {
			to.Field(p.rule).Set(f)
		}
	}
	return r
}

// fill writes what a rule says into a message.
func (t twins[M, R]) fill(m *M, r *R) {
	to, from := reflect.ValueOf(m).Elem(), reflect.ValueOf(r).Elem()
	for _, p := range t.pairs {
		f := from.Field(p.rule)
		if p.narrow {
			to.Field(p.message).Set(reflect.ValueOf(optionalInt32(f.Interface().(*int))))
		} else {
			to.Field(p.message).Set(f)
		}
	}
}
