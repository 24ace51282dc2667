package main

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// json prints a value as one line that a program can read.
func (t *terminal) json(v any) error {
	enc := json.NewEncoder(t.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// list prints names and values in two columns, indented.
func (t *terminal) list(cells ...string) {
	for i := 0; i < len(cells); i += 2 {
		fmt.Fprintf(t.stdout, "  %-9s  %s\n", cells[i], cells[i+1])
	}
}

// table prints names and values in two columns.
func (t *terminal) table(cells ...string) {
	wide := 0
	for i := 0; i < len(cells); i += 2 {
		wide = max(wide, utf8.RuneCountInString(cells[i]))
	}
	for i := 0; i < len(cells); i += 2 {
		fmt.Fprintf(t.stdout, "%-*s   %s\n", wide, cells[i], cells[i+1])
	}
}
