package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/internal/wait"
)

// loadTries and loadPause: a load that the engine refused because of another one at the same time
// has ended within a moment.
const (
	loadTries = 5
	loadPause = 200 * time.Millisecond
)

// helperImage puts the sidecar where the engine can use it: as a file that containers mount, and
// as an image of its own.
type helperImage struct {
	*engine
	sidecar sidecarBinary
}

// initPath is the sidecar on disk, mounted into services that have secrets.
func (hi *helperImage) initPath() string {
	return filepath.Join(hi.config.DataDir, "bin", "sidecar-"+hi.sidecar.hash)
}

// hostsPath is the file on disk that gives a container without a network the name of its loopback
// address.
func (hi *helperImage) hostsPath() string {
	return filepath.Join(hi.config.DataDir, "bin", "hosts")
}

func (hi *helperImage) relayImage() string { return "nullops-sidecar:" + hi.sidecar.hash }

// ensureRelayImage gives the engine an image that holds the sidecar alone. Its tag is the binary's
// hash, so that it is never stale. It is loaded, not imported: an import is dated, so that a second
// one at the same time would replace the image below containers that are being created.
func (hi *helperImage) ensureRelayImage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	var loadErr error
	for try := 0; ; try++ {
		_, err := hi.api.ImageInspect(ctx, hi.relayImage())
		if err == nil || !errdefs.IsNotFound(err) {
			return wrapUnavailable(err)
		}
		if try == loadTries || loadErr != nil && wait.Sleep(ctx, loadPause) != nil {
			return fmt.Errorf("load relay image: %w", loadErr)
		}
		// Of two loads at the same time the engine may refuse one.
		if loadErr = hi.loadRelayImage(ctx); loadErr == nil {
			return nil
		}
	}
}

func (hi *helperImage) loadRelayImage(ctx context.Context) error {
	archive, err := hi.relayArchive()
	if err != nil {
		return fmt.Errorf("pack it: %w", err)
	}
	r, err := hi.api.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return wrapMutationErr(err)
	}
	return errors.Join(findLoadError(r), r.Close())
}

// findLoadError reads the engine's messages, of which one may be an error.
func findLoadError(messages io.Reader) error {
	decoder := json.NewDecoder(messages)
	for {
		var m jsonstream.Message
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return wrapUnavailable(err)
		}
		if m.Error != nil {
			return m.Error
		}
	}
}

// relayArchive is the image as docker save would write it. It holds no time and no other chance:
// every load of it gives the same image.
func (hi *helperImage) relayArchive() (io.Reader, error) {
	layer, err := hi.relayLayer()
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{
			"Entrypoint": []string{"/sidecar"}, "User": fmt.Sprintf("%d:%d", relayUser, relayUser),
		},
		"rootfs": map[string]any{
			"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))},
		},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json",
		"RepoTags": []string{hi.relayImage()}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	return packFiles(
		archivedFile{"config.json", 0o444, config},
		archivedFile{"layer.tar", 0o444, layer},
		archivedFile{"manifest.json", 0o444, manifest},
	)
}

func (hi *helperImage) relayLayer() ([]byte, error) {
	helper, err := hi.sidecar.readBinary()
	if err != nil {
		return nil, err
	}
	b, err := packFiles(archivedFile{"sidecar", 0o555, helper}, archivedFile{"relay/", 0o755, nil})
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// archivedFile is a folder if its name ends with a slash.
type archivedFile struct {
	name string
	mode int64
	data []byte
}

func packFiles(files ...archivedFile) (*bytes.Buffer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data))}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	return &b, w.Close()
}
