package api_test

import (
	"os"
	"testing"

	"github.com/nullops/nullops/internal/script"
)

func TestMain(m *testing.M) {
	script.ServeIfAsked()
	os.Exit(m.Run())
}
