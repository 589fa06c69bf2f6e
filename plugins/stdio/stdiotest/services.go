package stdiotest

import (
	"os"
	"testing"
)

// PostgresURL returns the address of the PostgreSQL server that `make test` starts. Without one the
// test is skipped, or fails where skips count.
func PostgresURL(t *testing.T) string {
	t.Helper()
	address := os.Getenv("NULLOPS_TEST_POSTGRES")
	if address == "" && os.Getenv("NULLOPS_TEST_STRICT") == "1" {
		t.Fatal("NULLOPS_TEST_POSTGRES is not set; run through make test")
	}
	if address == "" {
		t.Skip("NULLOPS_TEST_POSTGRES is not set; run through make test")
	}
	return address
}
