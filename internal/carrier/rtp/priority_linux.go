package rtp

import (
	"os"
	"strconv"
	"syscall"
)

// priority is the nice value of a process that holds calls.
const priority = -5

// Prefer lets this process go before others of the machine, where the system allows that (root, or CAP_SYS_NICE): sound
// that is late is lost, while nobody notices a batch job that is. Where each service has its share of the machine anyway
// it changes nothing.
func Prefer() (raised bool) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		// Threads that come later have the priority of those that make them.
		raised = syscall.Setpriority(syscall.PRIO_PROCESS, id, priority) == nil
	}
	return raised
}
