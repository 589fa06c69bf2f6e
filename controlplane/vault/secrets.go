package vault

import (
	"context"
	"strings"
)

// Secrets reads values of projects' secrets. They are below one path of a KV engine, so
// that nobody who defines secrets reads what else the control plane may read, such as the
// sealing keys.
type Secrets struct {
	Client *Client
	// Mount is the path of the engine, Root the path in it.
	Mount, Root string
}

// Allows reports whether secrets may be read from a path of the engine.
func (s *Secrets) Allows(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return strings.HasPrefix(path, strings.Trim(s.Root, "/")+"/")
}

// Read reads one field of the value at a path.
func (s *Secrets) Read(ctx context.Context, path, field string) (string, error) {
	if !s.Allows(path) {
		return "", ErrNotFound
	}
	return s.Client.ReadKV(ctx, s.Mount, path, field)
}
