package agent

import (
	"os"
	"path/filepath"
)

// Enrolled reports whether an agent with this data folder was started with a token
// before, and so needs none any more.
func Enrolled(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, stateName))
	return err == nil
}
