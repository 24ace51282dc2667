//go:build !linux

package rtp

// Prefer would let this process go before others.
func Prefer() (raised bool) { return false }
