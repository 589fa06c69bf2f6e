package script_test

import (
	"os"
	"testing"

	"github.com/nullops/nullops/internal/script"
)

func TestMain(m *testing.M) {
	script.ServeIfAsked()
	if len(os.Args) == 2 && os.Args[1] == probeRole {
		probe()
	}
	os.Exit(m.Run())
}
