// Package durable writes files that survive a loss of power, and notices when a file was damaged
// since.
//
// A file is durable after two syncs: of its content, and of the folder with its name. FS has
// exactly these operations, so that tests can replace the disk by one that loses everything else,
// see package durabletest.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// FS is a disk. Reading is not part of it: a process always reads what it wrote.
type FS interface {
	OpenFile(path string, flag int, mode fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	Mkdir(path string, mode fs.FileMode) error
	// SyncDir makes the names in a folder durable. Sync of a File does that for its content only.
	SyncDir(path string) error
}

// File is a file that is open for writing.
type File interface {
	io.Writer
	io.WriterAt
	io.Closer
	Name() string
	Truncate(size int64) error
	Sync() error
}

// OS is the disk of the machine.
type OS struct{}

var _ FS = OS{}

// OpenFile implements FS.
func (OS) OpenFile(path string, flag int, mode fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// Mkdir implements FS.
func (OS) Mkdir(path string, mode fs.FileMode) error { return os.Mkdir(path, mode) }

// SyncDir implements FS.
func (OS) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// tempMark is in the names of files that are being written.
const tempMark = ".tmp-"

// WriteFile replaces a file as a whole: whatever happens, the old content or the new one is there.
// Once it returns nil, the new content stays.
func WriteFile(disk FS, path string, data []byte, mode fs.FileMode) error {
	f, err := ReplaceFile(disk, path, data, mode)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), disk.SyncDir(filepath.Dir(path)))
}

// ReplaceFile puts a synced file in the place of the one under path, or changes nothing. The
// folder is not synced: a loss of power may bring the old file back.
func ReplaceFile(disk FS, path string, data []byte, mode fs.FileMode) (File, error) {
	temp := fmt.Sprintf("%s%s%d-%d", path, tempMark, os.Getpid(), time.Now().UnixNano())
	f, err := disk.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = disk.Rename(temp, path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), disk.Remove(temp))
	}
	return f, nil
}

// RemoveTemporary removes what a process left in a folder that ended while it wrote a file of that
// name; "*" means any. No other process may be writing one.
func RemoveTemporary(disk FS, dir, name string) error {
	left, err := filepath.Glob(filepath.Join(dir, name+tempMark+"*"))
	for _, path := range left {
		err = errors.Join(err, disk.Remove(path))
	}
	return err
}

// MakeDir makes a folder and those above it, and makes their names durable.
func MakeDir(disk FS, path string, mode fs.FileMode) error {
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MakeDir(disk, parent, mode); err != nil {
			return err
		}
	}
	if err := disk.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.SyncDir(parent)
}

// damagedMark is in the names of files that were put aside because they are damaged.
const damagedMark = ".damaged-"

// PutAside renames a damaged file, so that a person can look at it and nothing reads it again.
func PutAside(disk FS, path string) (aside string, err error) {
	aside = fmt.Sprintf("%s%s%d", path, damagedMark, time.Now().UnixNano())
	if err := disk.Rename(path, aside); err != nil {
		return "", fmt.Errorf("put the damaged file aside: %w", err)
	}
	return aside, disk.SyncDir(filepath.Dir(path))
}

// FindDamaged lists the files of a folder that were put aside.
func FindDamaged(dir string) ([]string, error) {
	return filepath.Glob(filepath.Join(dir, "*"+damagedMark+"*"))
}
