package script_test

import (
	"os"
	"testing"
	"time"

	"github.com/nullops/nullops/internal/script"
)

// slowBegin is longer than the shortest limit with the grace it is given.
const slowBegin = 3500 * time.Millisecond

// slowMark is the file that lets scripts of this test binary begin late, as on a busy machine. The
// process of a script gets no variables.
func slowMark() string {
	exe, _ := os.Readlink("/proc/self/exe")
	return exe + ".slow"
}

func TestMain(m *testing.M) {
	if _, err := os.Stat(slowMark()); err == nil && len(os.Args) == 2 && os.Args[1] == script.Role {
		time.Sleep(slowBegin)
	}
	script.ServeIfAsked()
	if len(os.Args) == 2 && os.Args[1] == probeRole {
		probe()
	}
	os.Exit(m.Run())
}
