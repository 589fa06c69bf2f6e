package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is one file of an archive: its name there, and the file it is made of or its content.
type entry struct {
	name, from string
	data       []byte
	mode       fs.FileMode
}

// writeArchives writes one archive for each platform, with program, signature and help.
func (r *release) writeArchives(context.Context) error {
	for _, p := range r.platforms() {
		base := "nullops-" + r.version + "-" + p.os + "-" + p.arch
		entries := []entry{
			{name: base + "/" + p.program(), from: filepath.Join(r.folder(p), p.program()), mode: 0o755},
			{name: base + "/LICENSE", from: filepath.Join(r.root, "LICENSE"), mode: 0o644},
			{name: base + "/README.md", from: filepath.Join(r.root, "README.md"), mode: 0o644},
		}
		if r.key != nil {
			entries = append(entries, entry{name: base + "/nullops.sig",
				from: filepath.Join(r.folder(p), "nullops.sig"), mode: 0o644})
		}
		help, err := listFolder(r.helpFolder(), base)
		if err != nil {
			return err
		}
		entries = append(entries, help...)
		if p.os == "windows" {
			err = r.writeZip(base+".zip", entries)
		} else {
			err = r.writeTarball(base+".tar.gz", entries)
		}
		if err != nil {
			return err
		}
	}
	return r.writeSetup()
}

// writeSetup writes what a machine needs besides the images: the script, and what it reads.
func (r *release) writeSetup() error {
	base := "nullops-setup-" + r.version
	var entries []entry
	for name, mode := range map[string]fs.FileMode{"setup.sh": 0o755, "compose.yaml": 0o644,
		".env": 0o644, "README.md": 0o644} {
		entries = append(entries, entry{name: base + "/" + name,
			from: filepath.Join(r.root, "deploy", name), mode: mode})
	}
	return r.writeTarball(base+".tar.gz", entries)
}

// listFolder returns all files of a folder, as entries below a name.
func listFolder(folder, below string) (entries []entry, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		entries = append(entries, entry{name: below + "/" + filepath.ToSlash(name), from: path,
			mode: 0o644})
		return err
	})
	return entries, err
}

func sortEntries(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries),
		func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

func (e entry) content() ([]byte, error) {
	if e.from == "" {
		return e.data, nil
	}
	return os.ReadFile(e.from)
}

// writeTarball writes a .tar.gz in which nothing depends on this machine: no names, one time.
func (r *release) writeTarball(name string, entries []entry) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	return errors.Join(r.writeTar(z, entries), z.Close(), f.Close())
}

// writePlainTar writes a .tar of what is compressed already.
func (r *release) writePlainTar(name string, entries []entry) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	return errors.Join(r.writeTar(f, entries), f.Close())
}

func (r *release) writeTar(w io.Writer, entries []entry) error {
	t := tar.NewWriter(w)
	for _, e := range sortEntries(entries) {
		data, err := e.content()
		if err == nil {
			err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode),
				Size: int64(len(data)), ModTime: r.made, Format: tar.FormatPAX})
		}
		if err == nil {
			_, err = t.Write(data)
		}
		if err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) writeZip(name string, entries []entry) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	z := zip.NewWriter(f)
	for _, e := range sortEntries(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.made}
		h.SetMode(e.mode)
		data, err := e.content()
		var w io.Writer
		if err == nil {
			w, err = z.CreateHeader(h)
		}
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(z.Close(), f.Close())
}
