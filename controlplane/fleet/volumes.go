package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// errSums fails a copy whose written bytes differ from those that were read.
var errSums = errors.New("the checksums of what was read and what was written differ")

// Volumes asks a node whether a deployment's volumes can be copied now, and how many
// bytes all of them take, if measure is set.
func (d *Dialer) Volumes(ctx context.Context, node controlplane.NodeID,
	deployment controlplane.DeploymentID, measure bool) (s controlplane.VolumesState, err error) {
	path := strings.Replace(wire.PathVolumes, "{id}", url.PathEscape(string(deployment)), 1)
	if measure {
		path += "?" + wire.QueryMeasure + "=1"
	}
	r, err := d.askVolumes(ctx, node, http.MethodGet, path, "", nil)
	if err != nil {
		return s, err
	}
	defer func() { _ = r.Body.Close() }()
	var said wire.VolumesState
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&said); err != nil {
		return s, fmt.Errorf("read what the node knows of the volumes: %w", err)
	}
	return controlplane.VolumesState{Still: said.Still, Stopped: said.Stopped,
		Bytes: said.Bytes}, nil
}

// CopyVolume takes one volume from a node to a node, as fast as the slower one
// goes. Both ends' sums of the whole stream must be ours. moved hears of each piece
// before it is written, and ends the copy with an error.
func (d *Dialer) CopyVolume(
	ctx context.Context, c controlplane.VolumeCopy, moved func(bytes int) error,
) error {
	source, err := d.askVolumes(ctx, c.From, http.MethodGet, volumePath(c.Source, c.SourceVolume), "",
		nil)
	if err != nil {
		return fmt.Errorf("read %s: %w", describeVolume(c.SourceVolume), err)
	}
	defer func() { _ = source.Body.Close() }()
	content := io.TeeReader(source.Body, counter(moved))
	ours, err := d.WriteVolume(ctx, c.To, c.RelocationAttempt, c.Volume, content)
	if err != nil {
		return err
	}
	if source.Trailer.Get(wire.TrailerSum) != ours {
		return fmt.Errorf("%s: %w", describeVolume(c.Volume), errSums)
	}
	return nil
}

func volumePath(id controlplane.DeploymentID, v controlplane.VolumeName) string {
	return strings.NewReplacer("{id}", url.PathEscape(string(id)), "{key}",
		url.PathEscape(string(v.Step)), "{name}", url.PathEscape(v.Name)).Replace(wire.PathVolume)
}

func describeVolume(v controlplane.VolumeName) string {
	return fmt.Sprintf("volume %s of service %s", v.Name, v.Step)
}

// ReadVolume writes one volume of a node into to, whole or with an error. While services run,
// the volume may change while it is read.
func (d *Dialer) ReadVolume(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID, v controlplane.VolumeName, running bool, to io.Writer) error {
	path := volumePath(id, v)
	if running {
		path += "?" + wire.QueryRunning + "=1"
	}
	source, err := d.askVolumes(ctx, node, http.MethodGet, path, "", nil)
	if err != nil {
		return fmt.Errorf("read %s: %w", describeVolume(v), err)
	}
	defer func() { _ = source.Body.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, to), source.Body); err != nil {
		return fmt.Errorf("read %s: %w", describeVolume(v), err)
	}
	if source.Trailer.Get(wire.TrailerSum) != fmt.Sprintf("%x", sum.Sum(nil)) {
		return fmt.Errorf("%s: %w", describeVolume(v), errSums)
	}
	return nil
}

// WriteVolume replaces one volume on a node, and returns the SHA-256 of what was written.
func (d *Dialer) WriteVolume(ctx context.Context, node controlplane.NodeID,
	a controlplane.RelocationAttempt, v controlplane.VolumeName, from io.Reader) (string, error) {
	sum := sha256.New()
	target, err := d.askVolumes(ctx, node, http.MethodPut, volumePath(a.Deployment, v),
		formatAttempt(a.Since), io.TeeReader(from, sum))
	if err != nil {
		return "", fmt.Errorf("write %s: %w", describeVolume(v), err)
	}
	defer func() { _ = target.Body.Close() }()
	var written wire.VolumeWritten
	if err := json.NewDecoder(io.LimitReader(target.Body, 1<<10)).Decode(&written); err != nil {
		return "", fmt.Errorf("read what was written of %s: %w", describeVolume(v), err)
	}
	ours := fmt.Sprintf("%x", sum.Sum(nil))
	if written.Sum != ours {
		return "", fmt.Errorf("%s: %w", describeVolume(v), errSums)
	}
	return ours, nil
}

// counter hears how much is written to it.
type counter func(bytes int) error

func (c counter) Write(p []byte) (int, error) {
	if err := c(len(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// formatAttempt is how the agents know one from the next.
func formatAttempt(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return since.UTC().Format(time.RFC3339Nano)
}

// askVolumes makes one request on a connection of its own.
func (d *Dialer) askVolumes(ctx context.Context, node controlplane.NodeID, method, path,
	attempt string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set(wire.HeaderAttempt, attempt)
	client := newOneShotClient(func(ctx context.Context) (net.Conn, error) {
		return d.Dial(ctx, node)
	})
	r, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if r.StatusCode == http.StatusOK {
		return r, nil
	}
	defer func() { _ = r.Body.Close() }()
	why, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	return nil, fmt.Errorf("the node answered %d: %s", r.StatusCode, strings.TrimSpace(string(why)))
}
