package sidecar

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// unpackVolume replaces what is in a folder by an archive. Nothing is written outside the folder,
// whatever names and links the archive has.
func unpackVolume(folder string, from io.Reader) error {
	if err := emptyFolder(folder); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	u := volumeWriter{root: root, folder: folder}
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = u.write(h, archive)
		}
		if err != nil {
			return err
		}
	}
	if err := u.finishFolders(); err != nil {
		return err
	}
	return syncFolder(folder)
}

func emptyFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.Syncfs(int(f.Fd()))
}

// volumeWriter writes the entries of an archive.
type volumeWriter struct {
	root   *os.Root
	folder string
	// folders get their times at the end: each entry in them changes those.
	folders []*tar.Header
}

// localName leaves out the first part of a name, which is the folder itself.
func localName(name string) (string, error) {
	clean := path.Clean(name)
	if !filepath.IsLocal(clean) {
		return "", fmt.Errorf("the archive has an entry %q outside the volume", name)
	}
	if _, below, deeper := strings.Cut(clean, "/"); deeper {
		return below, nil
	}
	return ".", nil
}

func (u *volumeWriter) write(h *tar.Header, content io.Reader) error {
	name, err := localName(h.Name)
	if err != nil {
		return err
	}
	h.Name = name
	if name != "." {
		if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if name != "." {
			err = u.root.MkdirAll(name, 0o700)
		}
		u.folders = append(u.folders, h)
	case tar.TypeReg:
		err = u.writeFile(h, content)
	case tar.TypeSymlink:
		err = u.root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		var first string
		if first, err = localName(h.Linkname); err == nil {
			err = u.root.Link(first, name)
		}
		return err // its first name has set the rest
	case tar.TypeFifo, tar.TypeChar, tar.TypeBlock:
		err = u.makeNode(h)
	default:
		return fmt.Errorf("the archive has an entry of an unknown kind %q", h.Typeflag)
	}
	if err == nil {
		err = u.setOwnership(h)
	}
	if err == nil && h.Typeflag != tar.TypeDir {
		err = u.setTimes(h)
	}
	return err
}

func (u *volumeWriter) writeFile(h *tar.Header, content io.Reader) error {
	f, err := u.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// inParent runs a call on an entry of an open folder, so that no link on the way is followed out
// of the volume.
func (u *volumeWriter) inParent(name string, call func(folder int, base string) error) error {
	parent, err := u.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	return call(int(parent.Fd()), path.Base(name))
}

func (u *volumeWriter) makeNode(h *tar.Header) error {
	mode := map[byte]uint32{tar.TypeFifo: unix.S_IFIFO, tar.TypeChar: unix.S_IFCHR,
		tar.TypeBlock: unix.S_IFBLK}[h.Typeflag]
	device := unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor))
	return u.inParent(h.Name, func(folder int, base string) error {
		return unix.Mknodat(folder, base, mode|0o600, int(device))
	})
}

// setOwnership sets the owner first: a change of it takes set-user-ID bits away.
func (u *volumeWriter) setOwnership(h *tar.Header) error {
	if err := u.root.Lchown(h.Name, h.Uid, h.Gid); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeSymlink {
		if err := u.root.Chmod(h.Name, h.FileInfo().Mode()); err != nil {
			return err
		}
	}
	for key, value := range h.PAXRecords {
		name, is := strings.CutPrefix(key, attributePrefix)
		if !is {
			continue
		}
		err := u.inParent(h.Name, func(folder int, base string) error {
			return unix.Lsetxattr(fmt.Sprintf("/proc/self/fd/%d/%s", folder, base), name,
				[]byte(value), 0)
		})
		if err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("attribute %s of %s: %w", name, h.Name, err)
		}
	}
	return nil
}

func (u *volumeWriter) setTimes(h *tar.Header) error {
	at := h.AccessTime
	if at.IsZero() {
		at = h.ModTime
	}
	times := []unix.Timespec{unix.NsecToTimespec(at.UnixNano()),
		unix.NsecToTimespec(h.ModTime.UnixNano())}
	return u.inParent(h.Name, func(folder int, base string) error {
		return unix.UtimesNanoAt(folder, base, times, unix.AT_SYMLINK_NOFOLLOW)
	})
}

func (u *volumeWriter) finishFolders() error {
	for _, h := range slices.Backward(u.folders) {
		if err := u.setTimes(h); err != nil {
			return err
		}
	}
	return nil
}
