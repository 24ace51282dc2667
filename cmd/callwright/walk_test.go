package main_test

import (
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var timeAnywhere = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)

// fieldPaths are the ways to every field of a message and of the messages of ours within it.
func fieldPaths(m protoreflect.MessageDescriptor) [][]protoreflect.FieldDescriptor {
	return walk(m, nil)
}

func walk(m protoreflect.MessageDescriptor, above []protoreflect.FieldDescriptor) [][]protoreflect.FieldDescriptor {
	var all [][]protoreflect.FieldDescriptor
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		path := append(append([]protoreflect.FieldDescriptor(nil), above...), f)
		all = append(all, path)
		inside := f.Message()
		if inside == nil || f.IsMap() || inside.ParentFile().Package() != m.ParentFile().Package() {
			continue
		}
		if len(above) < 6 { // messages may hold themselves
			all = append(all, walk(inside, path)...)
		}
	}
	return all
}

func names(path []protoreflect.FieldDescriptor) []string {
	var all []string
	for _, f := range path {
		all = append(all, memberName(f))
	}
	return all
}

// set puts a value into a tree, making the branches.
func set(tree map[string]any, path []string, value any) {
	for ; len(path) > 1; path = path[1:] {
		next, ok := tree[path[0]].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[path[0]] = next
		}
		tree = next
	}
	tree[path[0]] = value
}

// placeholders are the names in a path template.
func placeholders(template string) map[string]bool {
	all := map[string]bool{}
	for segment := range strings.SplitSeq(template, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			all[strings.TrimSuffix(name, "}")] = true
		}
	}
	return all
}
