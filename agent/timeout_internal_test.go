package agent

import (
	"testing"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// A step's own timeout is for creating. Its undo gets at least the plugin's timeout: a short limit
// of the step must not leave effects behind.
func TestPluginTimeout(t *testing.T) {
	for _, c := range []struct {
		step, component int
		action          string
		want            time.Duration
	}{
		{0, 0, "create", 5 * time.Minute},
		{0, 0, "delete", 5 * time.Minute},
		{0, 30, "create", 30 * time.Second},
		{0, 30, "delete", 30 * time.Second},
		{2, 30, "create", 2 * time.Second},
		{2, 30, "delete", 30 * time.Second},
		{2, 0, "delete", 5 * time.Minute},
		{900, 30, "delete", 15 * time.Minute},
	} {
		if got := pluginTimeout(c.step, c.component, c.action); got != c.want {
			t.Errorf("step %d s, component %d s: %s has %s, wanted %s", c.step, c.component,
				c.action, got, c.want)
		}
	}
}

// The message of a service that was killed says by whom, like that of a plugin.
func TestExitSentence_Killed(t *testing.T) {
	limit := pipeline.Resources{MemoryMiB: 64}
	for _, c := range []struct {
		code int
		oom  bool
		want string
	}{
		{1, false, "the service ended with exit code 1"},
		{exitSIGKILL, true, "the service ran out of memory: its limit is 64 MiB"},
		{exitSIGKILL, false, "the service was killed (exit code 137), but neither by NullOps nor " +
			"for its memory; look for who else manages containers on this node"},
	} {
		if got := exitSentence("the service", c.code, c.oom, limit); got != c.want {
			t.Errorf("code %d, out of memory %t: %s", c.code, c.oom, got)
		}
	}
}
