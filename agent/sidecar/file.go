package sidecar

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/nullops/nullops/internal/quantity"
)

// CleanPath refuses a path that could mean more than it says.
func CleanPath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("%q is not an absolute path", p)
	case path.Clean(p) != p && path.Clean(p)+"/" != p:
		return fmt.Errorf("%q is not a clean path: write %s", p, path.Clean(p))
	case strings.ContainsRune(p, 0):
		return errors.New("the path holds a NUL character")
	}
	return nil
}

// TooLargeMessage is the one message about a file's size.
func TooLargeMessage(most int64) error {
	return fmt.Errorf("the file is larger than %s, the most that can be copied",
		quantity.FormatLimit(int(most>>20)))
}

// sendFile sends one regular file. A link leads to what the service itself
// would see: the container's root is ours too, so it leads nowhere outside.
func sendFile(s Start, to *FrameWriter) error {
	if err := CleanPath(s.Read); err != nil {
		return err
	}
	// A pipe or a device would make us wait, or worse.
	f, err := os.OpenFile(s.Read, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: copy its files one by one, or pack them first", s.Read)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", s.Read)
	case info.Size() > s.Most:
		return TooLargeMessage(s.Most)
	}
	if err := to.JSON(FrameFile, File{Name: path.Base(s.Read), Size: info.Size(),
		Mode: uint32(info.Mode().Perm())}); err != nil {
		return err
	}
	// It may grow while we read it.
	n, err := io.Copy(frameStream{to, FrameOutput}, io.LimitReader(f, s.Most+1))
	if err == nil && n > s.Most {
		err = TooLargeMessage(s.Most)
	}
	return err
}

// receiveFile writes one file, whole or not at all.
func receiveFile(s Start, in io.Reader) error {
	target, err := resolveTarget(s)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(path.Dir(target), ".nullops-")
	if err != nil {
		// Leave out the name of our temporary file.
		return fmt.Errorf("write into %s: %w", path.Dir(target), errors.Unwrap(err))
	}
	err = receiveContent(part, in, s.Most)
	if err == nil {
		err = copyOwnership(part, target, os.FileMode(s.Mode))
	}
	err = errors.Join(err, part.Close())
	if err == nil {
		err = os.Rename(part.Name(), target)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
}

// resolveTarget is where the file goes: the path, or into the folder that it names.
func resolveTarget(s Start) (string, error) {
	if err := CleanPath(s.Write); err != nil {
		return "", err
	}
	target := strings.TrimSuffix(s.Write, "/")
	if info, err := os.Stat(s.Write); err == nil && info.IsDir() {
		if s.Name == "" || s.Name != path.Base(s.Name) || s.Name == "." || s.Name == ".." {
			return "", fmt.Errorf("%s is a folder: say the file's name", s.Write)
		}
		target = path.Join(s.Write, s.Name)
	}
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return target, nil
	case err != nil:
		return "", err
	case info.Mode()&os.ModeSymlink != 0:
		return "", fmt.Errorf("%s is a link, which is not followed: name the file itself", target)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", target)
	}
	return target, nil
}

func receiveContent(part *os.File, in io.Reader, most int64) error {
	for total := int64(0); ; {
		f, err := ReadFrame(in)
		if err != nil {
			return errors.New("the file did not arrive to its end")
		}
		switch f.Kind {
		case FrameEnd:
			return nil
		case FrameInput:
			if total += int64(len(f.Data)); total > most {
				return TooLargeMessage(most)
			}
			if _, err := part.Write(f.Data); err != nil {
				return err
			}
		}
	}
}

// copyOwnership sets the new file's owner and permissions to those of the file that it replaces.
func copyOwnership(part *os.File, target string, mode os.FileMode) error {
	if mode == 0 {
		mode = 0o644
	}
	info, err := os.Stat(target)
	if err != nil {
		return part.Chmod(mode.Perm())
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		// Not root: it stays with who wrote it.
		_ = part.Chown(int(owner.Uid), int(owner.Gid))
	}
	return part.Chmod(info.Mode().Perm())
}
