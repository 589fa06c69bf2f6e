package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// longestReadme bounds what is printed of an archive.
const longestReadme = 1 << 20

// readReadme returns the first file of an archive.
func readReadme(archive []byte) (string, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", fmt.Errorf("read the archive: %w", err)
	}
	files := tar.NewReader(unzipped)
	h, err := files.Next()
	if err != nil || !strings.HasSuffix(h.Name, "/README.txt") {
		return "", errors.Join(errors.New("the archive does not begin with its README.txt"), err)
	}
	text, err := io.ReadAll(io.LimitReader(files, longestReadme))
	return string(text), err
}
