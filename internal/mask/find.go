package mask

import (
	"bytes"
	"encoding/binary"
)

const (
	// keySize is how many bytes of a pattern say whether it may begin somewhere.
	keySize = 4
	// filterBits is how many bits the filter has.
	filterBits = 1 << 16
)

// finder searches a text for many patterns at once: a bit set of their first bytes
// passes over nearly every place at the cost of one look.
type finder struct {
	filter [filterBits / 64]uint64
	// byKey holds the patterns by their first bytes.
	byKey map[uint32][][]byte
}

// newFinder makes a finder of patterns, each of which has keySize bytes or more.
func newFinder(patterns [][]byte) *finder {
	f := &finder{byKey: map[uint32][][]byte{}}
	for _, p := range patterns {
		key := binary.LittleEndian.Uint32(p)
		f.byKey[key] = append(f.byKey[key], p)
		bit := filterBit(key)
		f.filter[bit/64] |= 1 << (bit % 64)
	}
	return f
}

func filterBit(key uint32) uint32 { return key * 0x9E3779B1 >> 16 }

// findAll calls hit for each occurrence of each pattern.
func (f *finder) findAll(text []byte, hit func(from, to int)) {
	for i := 0; i+keySize <= len(text); i++ {
		key := binary.LittleEndian.Uint32(text[i:])
		bit := filterBit(key)
		if f.filter[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		for _, p := range f.byKey[key] {
			if bytes.HasPrefix(text[i:], p) {
				hit(i, i+len(p))
			}
		}
	}
}
