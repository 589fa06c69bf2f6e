// Package durabletest has a disk for tests that loses what was not synced when its power is cut.
//
// Until then it behaves like the folder it works in. At the cut, of each file there is what was
// synced, and of the writes since then nothing, all, a beginning that ends at any byte, or any of
// their sectors: a disk writes its cache in any order. Names that were made, changed or removed
// without a sync of their folder are kept or lost one by one.
package durabletest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/nullops/nullops/internal/durable"
)

// ErrOff is what every operation returns after the cut.
var ErrOff = errors.New("the power is off")

// Disk is a folder whose power can be cut.
type Disk struct {
	root string

	mu sync.Mutex
	// left is how many operations there are until the cut; none is planned if it is negative.
	left int
	off  bool
	cut  func()
	// done counts operations.
	done    int
	folders map[string]*folder
}

var _ durable.FS = (*Disk)(nil)

// New returns a disk in a folder. What is in the folder counts as synced.
func New(root string) (*Disk, error) {
	d := &Disk{root: root, left: -1, folders: map[string]*folder{}}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			d.folders[path] = newFolder()
			if path != root {
				d.folders[filepath.Dir(path)].put(filepath.Base(path), d.folders[path])
			}
			return nil
		}
		if !e.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		d.folders[filepath.Dir(path)].put(filepath.Base(path), &content{synced: data})
		return err
	})
	for _, f := range d.folders {
		f.sync()
	}
	return d, err
}

// CutAfter cuts the power at the operation after the next n. That operation may still happen, in
// whole or in part, but nobody is told. Then cut is called once, if it is not nil.
func (d *Disk) CutAfter(n int, cut func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.cut = n, cut
}

// Operations returns how many operations there were.
func (d *Disk) Operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// IsOff reports whether the power was cut.
func (d *Disk) IsOff() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.off
}

// Survive cuts the power if it is on, and writes what is left into another folder.
func (d *Disk) Survive(random *rand.Rand, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	return d.folders[d.root].survive(random, to)
}

// count counts an operation and reports whether the power is on. The lock is held.
func (d *Disk) count() (on bool) {
	if d.off {
		return false
	}
	d.done++
	if d.left == 0 {
		d.off = true
		if d.cut != nil {
			d.cut()
		}
		return false
	}
	d.left--
	return true
}

// change records an operation, which is durable after a sync, and performs it in the folder. The
// operation that the power is cut at is recorded and fails.
func (d *Disk) change(record func(), perform func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return ErrOff
	}
	on := d.count()
	if on {
		if err := perform(); err != nil {
			return err
		}
	}
	record()
	if !on {
		return ErrOff
	}
	return nil
}

// sync makes something durable, unless the power is off.
func (d *Disk) sync(record func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.count() {
		return ErrOff
	}
	record()
	return nil
}

func (d *Disk) folderOf(path string) (*folder, string) {
	return d.folders[filepath.Dir(path)], filepath.Base(path)
}

// OpenFile implements durable.FS.
func (d *Disk) OpenFile(path string, flag int, mode fs.FileMode) (durable.File, error) {
	_, err := os.Stat(path)
	if err == nil || flag&os.O_CREATE == 0 {
		return d.openExisting(path, flag, mode)
	}
	f := &file{disk: d, content: &content{}}
	err = d.change(func() {
		parent, name := d.folderOf(path)
		parent.change(nameChange{put: f.content, name: name})
	}, func() (err error) {
		f.real, err = os.OpenFile(path, flag, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *Disk) openExisting(path string, flag int, mode fs.FileMode) (durable.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, ErrOff
	}
	parent, name := d.folderOf(path)
	found, ok := parent.now[name].(*content)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	real, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	f := &file{disk: d, content: found, real: real}
	if flag&os.O_TRUNC != 0 {
		found.write(write{truncate: true})
	}
	if flag&os.O_APPEND != 0 {
		f.at = int64(len(found.all()))
	}
	return f, nil
}

// Rename implements durable.FS, within one folder.
func (d *Disk) Rename(from, to string) error {
	return d.change(func() {
		parent, name := d.folderOf(from)
		_, next := d.folderOf(to)
		parent.change(nameChange{put: parent.now[name], name: next, gone: name})
	}, func() error { return os.Rename(from, to) })
}

// Remove implements durable.FS.
func (d *Disk) Remove(path string) error {
	return d.change(func() {
		parent, name := d.folderOf(path)
		parent.change(nameChange{gone: name})
	}, func() error { return os.Remove(path) })
}

// Mkdir implements durable.FS.
func (d *Disk) Mkdir(path string, mode fs.FileMode) error {
	return d.change(func() {
		parent, name := d.folderOf(path)
		made := newFolder()
		d.folders[path] = made
		parent.change(nameChange{put: made, name: name})
	}, func() error { return os.Mkdir(path, mode) })
}

// SyncDir implements durable.FS.
func (d *Disk) SyncDir(path string) error {
	return d.sync(func() {
		if f := d.folders[path]; f != nil {
			f.sync()
		}
	})
}
