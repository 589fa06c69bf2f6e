package durabletest

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// sector is what a disk writes as a whole.
const sector = 512

// entry is what a name stands for: a content or a folder.
type entry interface {
	survive(random *rand.Rand, path string) error
}

// content is what a file holds: what was synced, and the writes since then.
type content struct {
	synced []byte
	writes []write
}

// write is data at an offset, or a new size.
type write struct {
	at       int64
	data     []byte
	truncate bool
}

func (c *content) write(w write) { c.writes = append(c.writes, w) }

func (c *content) sync() { c.synced, c.writes = c.all(), nil }

// all is the content as the process sees it.
func (c *content) all() []byte {
	data := slices.Clone(c.synced)
	for _, w := range c.writes {
		data = w.apply(data)
	}
	return data
}

func (w write) apply(data []byte) []byte {
	end := w.at + int64(len(w.data))
	switch {
	case w.truncate && w.at < int64(len(data)):
		return data[:w.at]
	case end > int64(len(data)):
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	copy(data[w.at:], w.data)
	return data
}

func (c *content) survive(random *rand.Rand, path string) error {
	return os.WriteFile(path, c.leave(random), 0o600)
}

// leave chooses what the disk holds after a cut.
func (c *content) leave(random *rand.Rand) []byte {
	data := slices.Clone(c.synced)
	switch random.IntN(4) {
	case 0:
		return data
	case 1:
		return c.all()
	case 2: // a beginning, which may end within a write
		n := random.IntN(len(c.writes) + 1)
		for _, w := range c.writes[:n] {
			data = w.apply(data)
		}
		if n < len(c.writes) && len(c.writes[n].data) > 0 {
			w := c.writes[n]
			size := len(w.apply(slices.Clone(data)))
			w.data = w.data[:w.wholeSectors(random.IntN(len(w.data)), int64(len(c.synced)))]
			if data = w.apply(data); len(data) < size && random.IntN(2) == 0 {
				data = append(data, make([]byte, size-len(data))...) // the size was written first
			}
		}
		return data
	}
	for _, w := range c.writes {
		data = w.leaveSectors(random, data)
	}
	return data
}

// wholeSectors returns how much of a cut write there is: what it replaces is replaced by sectors.
func (w write) wholeSectors(n int, synced int64) int {
	if end := w.at + int64(n); w.at < synced {
		n -= int(min(end%sector, int64(n)))
	}
	return n
}

// leaveSectors applies some of the sectors of a write; the size may change with none of them.
func (w write) leaveSectors(random *rand.Rand, data []byte) []byte {
	if w.truncate {
		if random.IntN(2) == 0 {
			return data
		}
		return w.apply(data)
	}
	if random.IntN(2) == 0 { // as large as if all of it had been written
		size := w.at + int64(len(w.data))
		if missing := size - int64(len(data)); missing > 0 {
			data = append(data, make([]byte, missing)...)
		}
	}
	for from := int64(0); from < int64(len(w.data)); {
		length := min(sector-(w.at+from)%sector, int64(len(w.data))-from)
		if random.IntN(2) == 0 {
			data = write{at: w.at + from, data: w.data[from : from+length]}.apply(data)
		}
		from += length
	}
	return data
}

// folder is the names in a folder: as they are now, as they were synced, and the changes between.
type folder struct {
	now, synced map[string]entry
	changes     []nameChange
}

// nameChange gives an entry a name, or takes a name away, or both at once.
type nameChange struct {
	put        entry
	name, gone string
}

func newFolder() *folder {
	return &folder{now: map[string]entry{}, synced: map[string]entry{}}
}

func (f *folder) put(name string, e entry) { f.now[name] = e }

func (f *folder) change(c nameChange) {
	c.apply(f.now)
	f.changes = append(f.changes, c)
}

func (c nameChange) apply(names map[string]entry) {
	delete(names, c.gone)
	if c.name != "" {
		names[c.name] = c.put
	}
}

func (f *folder) sync() { f.synced, f.changes = maps.Clone(f.now), nil }

func (f *folder) survive(random *rand.Rand, path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	names := maps.Clone(f.synced)
	kept := random.IntN(3) // none, any, or all of the changes
	for _, c := range f.changes {
		if kept == 2 || kept == 1 && random.IntN(2) == 0 {
			c.apply(names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := names[name].survive(random, filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}
