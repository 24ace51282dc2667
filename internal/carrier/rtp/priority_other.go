//go:build !linux

package rtp

func raise() {}
