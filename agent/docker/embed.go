package docker

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
)

// bin holds the sidecar, built by `make sidecar` before the agent is.
//
//go:embed all:bin
var bin embed.FS

// errNoSidecar tells a developer what to do: a release always has it.
var errNoSidecar = errors.New(
	"this binary was built without the sidecar: run `make sidecar`, then build again")

// sidecarBinary is the helper and the short hash that names it. Its bytes are read
// when they are needed, twice in an agent's life: kept, they would be a tenth of
// its memory.
type sidecarBinary struct {
	given []byte // instead of the embedded one
	hash  string
}

func embeddedSidecar(given []byte) (sidecarBinary, error) {
	s := sidecarBinary{given: given}
	data, err := s.readBinary()
	if err != nil {
		return sidecarBinary{}, err
	}
	sum := sha256.Sum256(data)
	s.hash = hex.EncodeToString(sum[:6])
	return s, nil
}

func (s sidecarBinary) readBinary() ([]byte, error) {
	if len(s.given) > 0 {
		return s.given, nil
	}
	data, err := bin.ReadFile("bin/sidecar")
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, errNoSidecar
	}
	if err != nil {
		return nil, fmt.Errorf("read embedded sidecar: %w", err)
	}
	return data, nil
}
