package durabletest

import (
	"os"
	"testing"
)

// TempDir makes a folder for many small disks, in memory if the machine can: what is measured here
// is what programs sync, not how fast a disk is.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nullops-powercut-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
