package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

const (
	// fileScanLimit is how many bytes of a folder are looked through for the files that are
	// wanted: the engine packs the whole folder.
	fileScanLimit = 256 << 20
	fileTimeout   = time.Minute
)

var _ agent.FileReader = (*Docker)(nil)

// ReadFiles has the engine pack the folder of the pattern, and takes what matches out of it.
// Only regular files right in the folder count: a link in a container may point anywhere.
func (sv *services) ReadFiles(ctx context.Context, deployment string, step pipeline.StepKey,
	pattern string, limits agent.FileLimits) ([]agent.ContainerFile, error) {
	if err := checkNames(deployment, string(step)); err != nil {
		return nil, err
	}
	c, err := sv.inspectContainer(ctx, sv.names.serviceName(deployment, step))
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	found, err := sv.copyFiles(limited, c.ID, pattern, limits)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		// Asking again would take as long again.
		return nil, fmt.Errorf("reading it took longer than %s", quantity.FormatDuration(fileTimeout))
	}
	return found, err
}

func (sv *services) copyFiles(ctx context.Context, id, pattern string,
	limits agent.FileLimits) ([]agent.ContainerFile, error) {
	source, folder := pattern, ""
	if agent.IsGlob(pattern) {
		source = path.Dir(pattern)
		folder = path.Base(source) + "/"
	}
	r, err := sv.api.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: source})
	switch {
	case errdefs.IsNotFound(err):
		return nil, nil
	case err != nil && isEngineAnswer(err):
		return nil, err
	case err != nil:
		return nil, wrapUnavailable(err)
	}
	defer func() { _ = r.Content.Close() }()
	scan := &io.LimitedReader{R: r.Content, N: fileScanLimit}
	found, err := readArchive(tar.NewReader(scan), folder+path.Base(pattern), limits)
	switch {
	case scan.N <= 0:
		return nil, fmt.Errorf("%s holds more than %s; write the files to a folder of their own",
			source, quantity.FormatLimit(fileScanLimit>>20))
	case errors.Is(err, errBadArchive) || err == nil:
		return found, err
	}
	return nil, wrapUnavailable(err)
}

// errBadArchive marks what asking again would not change.
var errBadArchive = errors.New("the files cannot be used")

// readArchive returns the regular files of an archive whose whole names match.
func readArchive(
	archive *tar.Reader, pattern string, limits agent.FileLimits,
) (found []agent.ContainerFile, err error) {
	left := limits.Bytes
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return found, nil
		case errors.Is(err, tar.ErrHeader):
			return nil, fmt.Errorf("%w: %w", errBadArchive, err)
		case err != nil:
			return nil, err
		}
		matches, err := path.Match(pattern, h.Name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBadArchive, err)
		}
		if !matches || h.Typeflag != tar.TypeReg {
			continue
		}
		if len(found) == limits.Files {
			return nil, fmt.Errorf("%w: there are more than %d", errBadArchive, limits.Files)
		}
		if left -= h.Size; left < 0 {
			return nil, fmt.Errorf("%w: they have more than %d bytes", errBadArchive, limits.Bytes)
		}
		data, err := io.ReadAll(io.LimitReader(archive, h.Size))
		if err != nil {
			return nil, err
		}
		found = append(found, agent.ContainerFile{Name: path.Base(h.Name), Data: data})
	}
}
