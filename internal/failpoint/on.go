//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// FromEnv reads the value of NULLOPS_FAILPOINT: "place=kill@3" kills the process
// at the third visit, "place=error@3" fails there. Without a number the first
// visit is meant.
func FromEnv(setting string) Hook {
	place, what, ok := strings.Cut(setting, "=")
	if !ok {
		return nil
	}
	action, at, _ := strings.Cut(what, "@")
	wanted, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		wanted = 1
	}
	var visits atomic.Int64
	return func(visited string) error {
		if visited != place || visits.Add(1) != wanted {
			return nil
		}
		if action == "kill" {
			// Not Exit: nothing deferred may run, as in a real crash.
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return fmt.Errorf("failpoint %s", place)
	}
}
