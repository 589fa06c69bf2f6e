package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
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

func (hi *helperImage) relayImage() string { return "nullops-sidecar:" + hi.sidecar.hash }

// ensureRelayImage imports an image that holds the sidecar alone. Its tag is
// the binary's hash, so that it is never stale.
func (hi *helperImage) ensureRelayImage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := hi.api.ImageInspect(ctx, hi.relayImage())
	if err == nil || !errdefs.IsNotFound(err) {
		return wrapUnavailable(err)
	}
	archive, err := hi.relayArchive()
	if err != nil {
		return fmt.Errorf("pack relay image: %w", err)
	}
	r, err := hi.api.ImageImport(ctx,
		client.ImageImportSource{Source: archive, SourceName: "-"}, hi.relayImage(),
		client.ImageImportOptions{Changes: []string{
			`ENTRYPOINT ["/sidecar"]`, fmt.Sprintf("USER %d:%d", relayUser, relayUser),
		}})
	if err != nil {
		return fmt.Errorf("import relay image: %w", wrapMutationErr(err))
	}
	_, err = io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("import relay image: %w", wrapMutationErr(err))
	}
	return nil
}

func (hi *helperImage) relayArchive() (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	helper, err := hi.sidecar.readBinary()
	if err != nil {
		return nil, err
	}
	h := &tar.Header{Name: "sidecar", Mode: 0o555, Size: int64(len(helper))}
	if err := w.WriteHeader(h); err != nil {
		return nil, err
	}
	if _, err := w.Write(helper); err != nil {
		return nil, err
	}
	dir := &tar.Header{Name: "relay/", Mode: 0o755, Typeflag: tar.TypeDir}
	if err := w.WriteHeader(dir); err != nil {
		return nil, err
	}
	return &b, w.Close()
}
