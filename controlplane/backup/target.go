package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Target is where scheduled backups are kept.
type Target interface {
	// Write keeps what write writes, whole or not at all, and returns how many bytes it is.
	Write(ctx context.Context, name string, write func(io.Writer) error) (int64, error)
	// Open reads one.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// List names everything that is there, also what is no backup.
	List(ctx context.Context) ([]string, error)
	Delete(ctx context.Context, name string) error
	// String names it for people, without its keys.
	String() string
}

// NewTarget returns the target of a setting: a folder, or s3://BUCKET/PREFIX.
func NewTarget(where string, s3 S3Access) (Target, error) {
	u, err := url.Parse(where)
	switch {
	case err == nil && u.Scheme == "s3":
		return newBucket(u, s3)
	case strings.Contains(where, "://"):
		return nil, fmt.Errorf("%q is neither a folder nor s3://BUCKET/PREFIX", where)
	case !filepath.IsAbs(where):
		return nil, fmt.Errorf("%q is no absolute path: a backup must not depend on where the control "+
			"plane was started", where)
	}
	return folder(where), nil
}

// folder keeps backups as files.
type folder string

var _ Target = folder("")

func (f folder) String() string { return string(f) }

// Write implements Target. The file has its name when it is whole and on the disk.
func (f folder) Write(
	_ context.Context, name string, write func(io.Writer) error,
) (n int64, err error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return 0, fmt.Errorf("make the folder of backups: %w", err)
	}
	file, err := os.CreateTemp(string(f), name+".writing-*")
	if err != nil {
		return 0, fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	counted := &counter{to: file}
	if err := errors.Join(write(counted), file.Sync(), file.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(file.Name(), filepath.Join(string(f), name)); err != nil {
		return 0, fmt.Errorf("keep the backup: %w", err)
	}
	return counted.n, nil
}

// Open implements Target.
func (f folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), name))
}

// List implements Target.
func (f folder) List(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, fmt.Errorf("list the folder of backups: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Delete implements Target.
func (f folder) Delete(_ context.Context, name string) error {
	return os.Remove(filepath.Join(string(f), name))
}

type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}
