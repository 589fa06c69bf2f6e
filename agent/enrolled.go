package agent

import (
	"os"
	"path/filepath"
)

// IsEnrolled reports whether an agent with this data folder has been started with a token
// before, so that it needs none now.
func IsEnrolled(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, stateName))
	return err == nil
}
