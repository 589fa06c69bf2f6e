// Package packaging makes container images without a container engine, the same
// bytes each time: equal files give an equal digest, on any machine and at any
// hour. It builds layers, puts images together, and pushes them. It runs nothing
// that is in an image.
package packaging

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// File is one entry of a layer. Its path has no leading slash.
type File struct {
	Path string
	// One of Data, From (a file on this machine), Link (a symbolic link's
	// target) or Dir.
	Data     []byte
	From     string
	Link     string
	Dir      bool
	Mode     int64 // 0 means 0644, or 0755 for a folder
	UID, GID int
}

// Layer is a compressed layer in the cache.
type Layer struct {
	Hash     v1.Hash `json:"digest"`
	Diff     v1.Hash `json:"diff_id"`
	Bytes    int64   `json:"size"`
	blobPath string
}

var _ v1.Layer = Layer{}

// Digest is the hash of the compressed layer.
func (l Layer) Digest() (v1.Hash, error) { return l.Hash, nil }

// DiffID is the hash of what is in it.
func (l Layer) DiffID() (v1.Hash, error) { return l.Diff, nil }

// Size is in bytes, compressed.
func (l Layer) Size() (int64, error) { return l.Bytes, nil }

// MediaType says that it is a layer of an OCI image.
func (l Layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// Compressed reads it as it is kept.
func (l Layer) Compressed() (io.ReadCloser, error) { return os.Open(l.blobPath) }

// Uncompressed reads what is in it.
func (l Layer) Uncompressed() (io.ReadCloser, error) { return openGzip(l.blobPath) }

func openGzip(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// Epoch is the date of whatever has no date of its own. Any fixed one will do; with the clock, each
// build would have another digest.
func Epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// layerFormat is part of every key; raise it when writeTar changes its output.
const layerFormat = "1"

// MakeLayer returns the layer of these files, from the cache if it is there.
func MakeLayer(cache string, files []File) (Layer, error) {
	files = withFolders(files)
	key, err := contentKey(files)
	if err != nil {
		return Layer{}, err
	}
	base := filepath.Join(cache, "layers", key)
	l := Layer{blobPath: base + ".tar.gz"}
	if data, err := os.ReadFile(base + ".json"); err == nil {
		if err := json.Unmarshal(data, &l); err == nil {
			return l, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return Layer{}, fmt.Errorf("make the cache: %w", err)
	}
	if err := l.writeBlob(files); err != nil {
		return Layer{}, fmt.Errorf("write a layer: %w", err)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return Layer{}, fmt.Errorf("describe a layer: %w", err)
	}
	// The description is written last: with it, the layer is complete.
	return l, ReplaceFile(base+".json", data)
}

// writeBlob makes the blob beside its place, so that a killed build leaves no half.
func (l *Layer) writeBlob(files []File) error {
	f, err := os.CreateTemp(filepath.Dir(l.blobPath), "unfinished-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // renamed by then, if all went well
	packed, plain := sha256.New(), sha256.New()
	size := &counter{}
	z, err := gzip.NewWriterLevel(io.MultiWriter(f, packed, size), gzip.DefaultCompression)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	err = writeTar(io.MultiWriter(z, plain), files)
	if err = errors.Join(err, z.Close(), f.Close()); err != nil {
		return err
	}
	l.Hash = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(packed.Sum(nil))}
	l.Diff = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(plain.Sum(nil))}
	l.Bytes = size.n
	return os.Rename(f.Name(), l.blobPath)
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// withFolders adds the missing parents and sorts, so that the order in which
// files were listed does not matter. A later entry of the same path wins.
func withFolders(files []File) []File {
	byPath := map[string]File{}
	for _, f := range files {
		byPath[f.Path] = f
	}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if _, listed := byPath[dir]; !listed {
				byPath[dir] = File{Path: dir, Dir: true}
			}
		}
	}
	all := make([]File, 0, len(byPath))
	for _, f := range byPath {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// contentKey names a layer by everything that goes into it.
func contentKey(files []File) (string, error) {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, layerFormat) // a hash takes everything
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%q %q %t %o %d %d %d ",
			f.Path, f.Link, f.Dir, f.Mode, f.UID, f.GID, len(f.Data))
		_, _ = h.Write(f.Data)
		if f.From != "" {
			in, err := os.Open(f.From)
			if err != nil {
				return "", fmt.Errorf("read %s for an image: %w", f.Path, err)
			}
			inner := sha256.New()
			_, err = io.Copy(inner, in)
			if err = errors.Join(err, in.Close()); err != nil {
				return "", fmt.Errorf("read %s for an image: %w", f.Path, err)
			}
			_, _ = h.Write(inner.Sum(nil))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:32], nil
}

func writeTar(w io.Writer, files []File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := writeEntry(t, f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return t.Close()
}

func writeEntry(t *tar.Writer, f File) error {
	h := &tar.Header{
		Name: f.Path, Mode: f.Mode, Uid: f.UID, Gid: f.GID, ModTime: Epoch(), Format: tar.FormatPAX,
	}
	switch {
	case f.Dir:
		h.Typeflag, h.Name = tar.TypeDir, f.Path+"/"
		h.Mode = orDefault(f.Mode, 0o755)
		return t.WriteHeader(h)
	case f.Link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
		return t.WriteHeader(h)
	}
	h.Typeflag, h.Mode = tar.TypeReg, orDefault(f.Mode, 0o644)
	if f.From == "" {
		h.Size = int64(len(f.Data))
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(f.Data)
		return err
	}
	in, err := os.Open(f.From)
	if err != nil {
		return err
	}
	info, err := in.Stat()
	if err == nil {
		h.Size = info.Size()
		err = t.WriteHeader(h)
	}
	if err == nil {
		_, err = io.Copy(t, in)
	}
	return errors.Join(err, in.Close())
}

func orDefault(mode, normal int64) int64 {
	if mode == 0 {
		return normal
	}
	return mode
}

// ReplaceFile writes a file so that a reader sees the old one or the new one.
func ReplaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "unfinished-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(fs.FileMode(0o644)), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(f.Name()))
	}
	return nil
}
