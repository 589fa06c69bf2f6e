package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
)

// archiveCheck reads an archive while it is copied. A file that changes while it is
// packed can cut the archive off, and the engine does not say so.
type archiveCheck struct {
	*io.PipeWriter

	n      int64
	zeros  int
	result chan error
}

// errArchive is for an archive that nothing could be restored from.
var errArchive = errors.New("its files changed while they were read, and what was read is not " +
	"whole: try again, without --running")

// endMark is how many zero bytes end an archive.
const endMark = 1024

func newArchiveCheck() *archiveCheck {
	in, out := io.Pipe()
	c := &archiveCheck{PipeWriter: out, result: make(chan error, 1)}
	go func() {
		archive, err := tar.NewReader(in), error(nil)
		for err == nil {
			_, err = archive.Next()
		}
		// The writer is not stopped by an archive that is damaged.
		_, _ = io.Copy(io.Discard, in)
		c.result <- err
	}()
	return c
}

func (c *archiveCheck) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if rest := bytes.TrimRight(p, "\x00"); len(rest) > 0 {
		c.zeros = len(p) - len(rest)
	} else {
		c.zeros += len(p)
	}
	return c.PipeWriter.Write(p)
}

// end returns the error of the copy, or what is wrong with the archive.
func (c *archiveCheck) end(copied error) error {
	_ = c.Close()
	err := <-c.result
	switch {
	case copied != nil:
		return copied
	case !errors.Is(err, io.EOF) || c.zeros < endMark:
		return errArchive
	}
	return nil
}
