package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker (Makefile, build); otherwise it is what the Go command knows of the source.
var version string

func programVersion() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "dev"
}

type versionCommand struct{}

func (versionCommand) Run(t *terminal) error {
	fmt.Fprintf(t.stdout, "callwright %s (%s, %s/%s)\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
