//go:build failpoints

package agent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// compactAt is so low here that a short life visits the failpoints of
// rewriting the journal too.
const compactAt = 8 << 10

// FailpointFromEnv reads "name=kill@3" (the third visit kills the process) or
// "name=error@3" (it returns an error), the value of NULLOPS_FAILPOINT.
func FailpointFromEnv(setting string) Failpoint {
	name, what, ok := strings.Cut(setting, "=")
	if !ok {
		return nil
	}
	action, at, _ := strings.Cut(what, "@")
	wanted, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		wanted = 1
	}
	var visits atomic.Int64
	return func(place string) error {
		if place != name || visits.Add(1) != wanted {
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
