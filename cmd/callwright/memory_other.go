//go:build !linux

package main

import "runtime/debug"

// forgetStart gives back the memory that only the start needed.
func forgetStart() { debug.FreeOSMemory() }
