package rest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A raw field may be given in the query as JSON (where={"status":"completed"}) or in brackets, which become the same JSON:
//
//	where[created_at][gte]=2026-01-01     {"created_at":{"gte":"2026-01-01"}}
//	where[AND][0][status]=busy            {"AND":[{"status":"busy"}]}
//	where[status][in][]=a&…[in][]=b       {"status":{"in":["a","b"]}}
//	where[status][in]=a&where[status][in]=b   the same: a value given twice is a list
//
// All values are texts, and what they mean is the rule's to say: the object of a filter in brackets goes to it as
// {"brackets": object}.

// maxBrackets bounds the nesting; the rules allow less.
const maxBrackets = 16

var (
	errTwice      = errors.New("is given more than once")
	errBothForms  = errors.New("is given both as JSON and in brackets")
	errUnbalanced = errors.New("has unbalanced brackets")
	errDeep       = errors.New("is nested too deeply")
	errMixed      = errors.New("is given both as a value and as an object or list")
)

// tree is one raw field as the query gives it.
type tree struct {
	f    *member
	text *string // given as JSON
	root *node   // given in brackets
}

// node is a value of the tree: texts, or children in the order they are written.
type node struct {
	texts []string
	keys  []string
	kids  map[string]*node
}

// plant adds one parameter to the tree of its field.
func plant(trees []*tree, f *member, brackets, value string) ([]*tree, error) {
	i := slices.IndexFunc(trees, func(t *tree) bool { return t.f == f })
	if i < 0 {
		i, trees = len(trees), append(trees, &tree{f: f})
	}
	t := trees[i]
	if brackets == "" {
		if t.text != nil {
			return nil, errTwice
		}
		t.text = &value
	} else {
		path, err := splitBrackets(brackets)
		if err != nil {
			return nil, err
		}
		if t.root == nil {
			t.root = &node{}
		}
		t.root.add(path, value)
	}
	if t.text != nil && t.root != nil {
		return nil, errBothForms
	}
	return trees, nil
}

// splitBrackets reads [a][b][] into a, b and "".
func splitBrackets(s string) ([]string, error) {
	var path []string
	for s != "" {
		end := strings.IndexByte(s, ']')
		if s[0] != '[' || end < 0 || strings.IndexByte(s[1:end], '[') >= 0 {
			return nil, errUnbalanced
		}
		if len(path) == maxBrackets {
			return nil, errDeep
		}
		path = append(path, s[1:end])
		s = s[end+1:]
	}
	return path, nil
}

func (n *node) add(path []string, value string) {
	for _, key := range path {
		if key == "" { // each empty pair of brackets is a new item

			key = "[" + strconv.Itoa(len(n.keys))
		}
		if n.kids[key] == nil {
			if n.kids == nil {
				n.kids = map[string]*node{}
			}
			n.kids[key] = &node{}
			n.keys = append(n.keys, key)
		}
		n = n.kids[key]
	}
	n.texts = append(n.texts, value)
}

// json is the field's value; empty when it was given empty.
func (t *tree) json() (string, error) {
	if t.root != nil {
		b, err := t.root.append(nil)
		if err == nil && t.f.object {
			return `{"brackets":` + string(b) + `}`, nil
		}
		return string(b), err
	}
	text := strings.TrimSpace(*t.text)
	if text == "" {
		return "", nil
	}
	if err := check([]byte(text)); err != nil {
		return "", err
	}
	if t.f.object && text[0] != '{' {
		return "", errors.New("must be an object")
	}
	return text, nil
}

func (n *node) append(b []byte) ([]byte, error) {
	if len(n.texts) > 0 && len(n.keys) > 0 {
		return nil, errMixed
	}
	if len(n.keys) == 0 {
		return n.appendTexts(b), nil
	}
	list, err := n.list()
	if err != nil {
		return nil, err
	}
	start, end := byte('{'), byte('}')
	if list {
		start, end = '[', ']'
	}
	b = append(b, start)
	for i, key := range n.keys {
		if i > 0 {
			b = append(b, ',')
		}
		if !list {
			b = append(appendString(b, key), ':')
		}
		if b, err = n.kids[key].append(b); err != nil {
			return nil, err
		}
	}
	return append(b, end), nil
}

// list says whether the children are items, and puts numbered ones into order.
func (n *node) list() (bool, error) {
	var numbered, empty int
	for _, k := range n.keys {
		switch {
		case strings.HasPrefix(k, "["):
			empty++
		case len(k) <= 4 && strings.Trim(k, "0123456789") == "":
			numbered++
		}
	}
	if empty > 0 {
		if empty < len(n.keys) {
			return false, errMixed
		}
		return true, nil
	}
	if numbered < len(n.keys) {
		return false, nil
	}
	slices.SortStableFunc(n.keys, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	return true, nil
}

func (n *node) appendTexts(b []byte) []byte {
	if len(n.texts) == 1 {
		return appendString(b, n.texts[0])
	}
	b = append(b, '[')
	for i, t := range n.texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, t)
	}
	return append(b, ']')
}
