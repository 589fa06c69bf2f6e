package server

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"

	"github.com/google/uuid"

	"github.com/nullops/nullops/internal/durable"
)

// The install ID marks what this agent made in Docker: objects with another ID are a stranger's and
// never touched. With a changed ID an agent would abandon all of its own, so there are two files:
// the ID, as every release reads it, and a copy with a checksum.
const (
	installName = "install"
	installCopy = "install.copy"
)

// installFormat is what IDs look like. People may have chosen their own.
var installFormat = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// loadInstallID returns the ID of a data folder, which is made once. What is damaged of the two
// files is restored from the other one.
func loadInstallID(disk durable.FS, data string, log *slog.Logger) (string, error) {
	path, copied := filepath.Join(data, installName), filepath.Join(data, installCopy)
	id, err := knownInstallID(data)
	if errors.Is(err, fs.ErrNotExist) {
		// The copy first: until the ID is there, nothing was made with it.
		id = uuid.NewString()[:8]
		err = writeInstallID(disk, copied, formatInstallCopy([]byte(id)))
		return id, errors.Join(err, writeInstallID(disk, path, []byte(id+"\n")))
	}
	if err != nil {
		return "", err
	}
	is, err := readInstallID(path)
	if err == nil && string(bytes.TrimSpace(is)) != id {
		log.Error("the install ID was damaged and is restored from its copy", "file", path, "install", id)
		err = writeInstallID(disk, path, []byte(id+"\n"))
	}
	if err != nil {
		return "", err
	}
	is, err = readInstallID(copied)
	if err == nil && !bytes.Equal(is, formatInstallCopy([]byte(id))) {
		if is != nil {
			log.Error("the copy of the install ID was damaged and is restored", "file", copied,
				"install", id)
		}
		err = writeInstallID(disk, copied, formatInstallCopy([]byte(id)))
	}
	return id, err
}

// knownInstallID returns the ID of a data folder; the error is fs.ErrNotExist if there is none.
func knownInstallID(data string) (string, error) {
	path, copied := filepath.Join(data, installName), filepath.Join(data, installCopy)
	text, err := readInstallID(path)
	if err != nil {
		return "", err
	}
	second, err := readInstallID(copied)
	if err != nil {
		return "", err
	}
	if id, whole := cutInstallCopy(second); whole {
		return string(id), nil
	}
	if id := bytes.TrimSpace(text); installFormat.Match(id) {
		return string(id), nil
	}
	if text == nil && second == nil {
		return "", fmt.Errorf("read install id: %w", fs.ErrNotExist)
	}
	return "", fmt.Errorf("%s is damaged, and without it the agent does not know its own containers: "+
		"write the ID into it that docker ps -a --format '{{.Label \"nullops.install\"}}' shows, or "+
		"remove it and %s if there are none", path, copied)
}

// readInstallID returns nil for a file that does not exist.
func readInstallID(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read install id: %w", err)
	}
	return text, nil
}

func writeInstallID(disk durable.FS, path string, text []byte) error {
	if err := durable.WriteFile(disk, path, text, 0o600); err != nil {
		return fmt.Errorf("write install id: %w", err)
	}
	return nil
}

func formatInstallCopy(id []byte) []byte {
	return fmt.Appendf(nil, "%s %08x\n", id, durable.Checksum(id))
}

func cutInstallCopy(text []byte) (id []byte, ok bool) {
	id, _, ok = bytes.Cut(text, []byte(" "))
	return id, ok && bytes.Equal(formatInstallCopy(id), text)
}
