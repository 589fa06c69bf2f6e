package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// Memory of the start is returned once, and not before the server has little to do.
func TestTrimAtRest_LeavesABusyServerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		freed := 0
		used := func() time.Duration { return min(time.Since(began)/10, 3*time.Second) }
		trimAtRest(t.Context(), used, func() { freed++ })
		if took := time.Since(began); freed != 1 || took < 30*time.Second || took > 45*time.Second {
			t.Errorf("freed %d times, after %v; it was busy for 30 s", freed, took)
		}
	})
}
