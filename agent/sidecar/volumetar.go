package sidecar

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// On Kubernetes, nobody packs a volume for the agent, so the helper does, in a pod that mounts the
// volume. The archive is the one that a Docker Engine makes: its entries are in a folder with the
// name of the mount point's last part, and they keep owners, modes, links, times and attributes.

// attributePrefix is what archives call extended attributes.
const attributePrefix = "SCHILY.xattr."

// inode tells whether a file with several names was packed already.
type inode struct{ device, number uint64 }

// packVolume writes a folder as an archive.
func packVolume(folder string, to io.Writer) error {
	buffered := bufio.NewWriterSize(to, 1<<20)
	archive := tar.NewWriter(buffered)
	seen := map[inode]string{}
	top := path.Base(folder)
	err := filepath.WalkDir(folder, func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		return packFile(archive, file, path.Join(top, filepath.ToSlash(below)), seen)
	})
	return errors.Join(err, archive.Close(), buffered.Flush())
}

func packFile(archive *tar.Writer, file, name string, seen map[inode]string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket != 0 {
		return nil // it belongs to a process that has ended
	}
	link := ""
	if info.Mode()&os.ModeSymlink != 0 {
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uname, h.Gname, h.Format = name, "", "", tar.FormatPAX
	// Reading changes the one, and nobody can set the other.
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
	if info.IsDir() {
		h.Name += "/"
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && !info.IsDir() && s.Nlink > 1 {
		key := inode{s.Dev, s.Ino}
		if first, again := seen[key]; again {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
		}
		seen[key] = name
	}
	if h.Typeflag != tar.TypeLink {
		if h.PAXRecords, err = readAttributes(file); err != nil {
			return err
		}
	}
	if err := archive.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	return packContent(archive, file, h.Size)
}

// packContent fails for a file that shrinks meanwhile; of one that grows, it takes what there was.
func packContent(archive *tar.Writer, file string, size int64) error {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.CopyN(archive, f, size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s became shorter while it was read", file)
	}
	return err
}

// readAttributes returns the extended attributes of a file; some file systems have none.
func readAttributes(file string) (map[string]string, error) {
	names := make([]byte, 64<<10)
	n, err := unix.Llistxattr(file, names)
	if err != nil || n == 0 {
		if errors.Is(err, unix.ENOTSUP) {
			err = nil
		}
		return nil, err
	}
	records := map[string]string{}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if strings.HasPrefix(name, "security.selinux") {
			continue // the other machine's
		}
		n, err := unix.Lgetxattr(file, name, value)
		if err != nil {
			continue // it is gone, or only its owner may read it
		}
		records[attributePrefix+name] = string(value[:n])
	}
	return records, nil
}

// measureVolume prints how many bytes of the disk a folder takes.
func measureVolume(folder string, to io.Writer) error {
	total, seen := int64(0), map[inode]bool{}
	err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && !seen[inode{s.Dev, s.Ino}] {
			seen[inode{s.Dev, s.Ino}] = true
			total += s.Blocks * 512
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(to, total)
	return err
}

// Population is a folder of an image and the new volume that begins as its copy.
type Population struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// populateVolumes fills the volumes that are empty, as a Docker Engine does with new ones.
func populateVolumes(request string) error {
	var all []Population
	if err := json.Unmarshal([]byte(request), &all); err != nil {
		return err
	}
	for _, p := range all {
		if err := populateVolume(p); err != nil {
			return fmt.Errorf("fill the volume at %s: %w", p.From, err)
		}
	}
	return nil
}

func populateVolume(p Population) error {
	volume, err := os.Open(p.To)
	if err != nil {
		return err
	}
	defer func() { _ = volume.Close() }()
	// Services that share the volume may start side by side.
	if err := unix.Flock(int(volume.Fd()), unix.LOCK_EX); err != nil && !isUnsupported(err) {
		return err
	}
	if names, err := volume.Readdirnames(1); err == nil && len(names) > 0 {
		return nil
	}
	info, err := os.Stat(p.From)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return os.Chmod(p.To, 0o755)
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("the image has a file there: choose another path")
	}
	out, in := io.Pipe()
	go func() { _ = in.CloseWithError(packVolume(p.From, in)) }()
	return unpackVolume(p.To, out)
}

func isUnsupported(err error) bool {
	return errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) ||
		errors.Is(err, unix.ENOLCK)
}
