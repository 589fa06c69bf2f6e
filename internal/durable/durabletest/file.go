package durabletest

import (
	"os"
	"slices"
)

// file is an open file of a Disk.
type file struct {
	disk    *Disk
	content *content
	real    *os.File
	at      int64
}

func (f *file) Name() string { return f.real.Name() }
func (f *file) Close() error { return f.real.Close() }

func (f *file) Write(data []byte) (int, error) {
	err := f.disk.change(func() {
		f.content.write(write{at: f.at, data: slices.Clone(data)})
		f.at += int64(len(data))
	}, func() error {
		_, err := f.real.Write(data)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

func (f *file) WriteAt(data []byte, at int64) (int, error) {
	err := f.disk.change(func() {
		f.content.write(write{at: at, data: slices.Clone(data)})
	}, func() error {
		_, err := f.real.WriteAt(data, at)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

func (f *file) Truncate(size int64) error {
	return f.disk.change(func() {
		f.content.write(write{at: size, truncate: true})
	}, func() error { return f.real.Truncate(size) })
}

// Sync makes the content durable. The real file is not synced: the machine's power stays on.
func (f *file) Sync() error { return f.disk.sync(f.content.sync) }
