// Command callwright runs AI voice agents that place and answer telephone calls, as a service with a REST and a gRPC
// interface. `callwright dev` starts all of it on one machine with nothing installed; `callwright --help` lists the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/callwright/callwright/internal/fault"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: results go to stdout, logs and errors to stderr. It returns the exit code: 0, or 1 after a sentence
// that says what went wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help": // what people type first; help COMMAND works too
		args = append(slices.Clone(args[1:]), "--help")
	}
	var c commands
	exited := -1
	parser, err := kong.New(&c, append(options(),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&terminal{stdout: stdout, stderr: stderr}),
	)...)
	if err != nil {
		panic("callwright: commands: " + err.Error()) // a wrong tag in config.go
	}
	command, err := parser.Parse(args)
	if exited >= 0 { // --help has been printed
		return exited
	}
	if err == nil {
		err = command.Run()
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "callwright: "+sentence(err))
	if usage, ok := errors.AsType[*kong.ParseError](err); ok {
		fmt.Fprintln(stderr, "See "+strings.Join(append(words(usage.Context), "--help"), " "))
	}
	return 1
}

// words are the part of a command line that was understood, so that the hint names the right help.
func words(c *kong.Context) []string {
	out := []string{"callwright"}
	for _, p := range c.Path {
		if p.Command != nil {
			out = append(out, p.Command.Name)
		}
	}
	return out
}

// sentence is an error in words for the person at the terminal: a rule's own words without its code, else the whole
// chain of causes.
func sentence(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Err == nil {
		return f.Message
	}
	return advice(err)
}
