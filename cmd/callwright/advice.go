package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
)

// errorf makes an error of one sentence.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// advice adds what to do to the errors that a first start commonly ends in.
func advice(err error) string {
	op, listening := errors.AsType[*net.OpError](err)
	path, file := errors.AsType[*fs.PathError](err)
	switch {
	case listening && op.Op == "listen" && errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf("%s is in use: stop the program that listens there, or choose another address with --http-addr, --grpc-addr or --sip-addr",
			op.Addr)
	case listening && op.Op == "listen" && errors.Is(err, syscall.EACCES):
		return fmt.Sprintf("%s needs more rights than this user has: choose a port above 1023", op.Addr)
	case listening && op.Op == "listen":
		return strings.TrimPrefix(err.Error(), "listen ") + ": use HOST:PORT of an address of this machine, such as 127.0.0.1:8080"
	case file && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return fmt.Sprintf("%s can not be written (%v): let this user write there, or choose another place with --data-dir",
			path.Path, path.Err)
	case file && errors.Is(err, syscall.ENOTDIR):
		return fmt.Sprintf("%s is not a directory: choose another place with --data-dir", path.Path)
	}
	return oneLine(err.Error())
}

// oneLine joins the lines of an error (a database driver lists every address it tried), each once.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
