// Package previoustest holds what the previous release leaves behind: its commit, and fixtures
// that its programs wrote. Tests upgrade them with today's code; docs/recovery.md says what is
// promised. "make fixtures" writes them anew, at a release.
package previoustest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

//go:embed release.json fixtures
var files embed.FS

var recording = flag.Bool("record-fixtures", false,
	"write the fixtures of the previous release, see 'make fixtures'")

// Release is what the fixtures say of the release that wrote them.
type Release struct {
	// Commit is where its source is.
	Commit string `json:"commit"`
}

// ReadRelease returns what wrote the fixtures.
func ReadRelease(t testing.TB) (r Release) {
	t.Helper()
	data, err := files.ReadFile("release.json")
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&r)
	}
	if err != nil {
		t.Fatalf("release.json: %v", err)
	}
	return r
}

// IsRecording reports whether the test has to write its fixtures, with Record.
func IsRecording() bool { return *recording }

// Record writes a fixture into the source. A name that ends in .gz is compressed.
func Record(t testing.TB, name string, data []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	_, source, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(source), "fixtures", name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Read returns a fixture.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := files.ReadFile("fixtures/" + name)
	if err == nil && strings.HasSuffix(name, ".gz") {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(r)
		}
	}
	if err != nil {
		t.Fatalf("fixture %s: %v", name, err)
	}
	return data
}

// Names lists the fixtures whose names match a pattern.
func Names(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := fs.Glob(files, "fixtures/"+pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("fixtures %s: %d, %v", pattern, len(names), err)
	}
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, "fixtures/")
	}
	return names
}

// ReadJSON decodes a fixture.
func ReadJSON(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, name), into); err != nil {
		t.Fatalf("fixture %s: %v", name, err)
	}
}

// Unpack writes the files of an archive into a new folder and returns it.
func Unpack(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	archive := tar.NewReader(bytes.NewReader(Read(t, name)))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(archive)
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatalf("fixture %s: %v", name, err)
		}
		path := filepath.Join(dir, h.Name)
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Archive archives the files of an agent's folder, without programs and sockets.
func Archive(t testing.TB, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() ||
			strings.HasPrefix(path, filepath.Join(dir, "bin")+"/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))})
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
