package gitfetch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// A small pack that would inflate to far more than is kept ends as too large, and takes no memory.
func TestReadPack_IsBounded(t *testing.T) {
	t.Parallel()
	limits := Limits{Pack: 1 << 20, Object: 1 << 10, Objects: 1 << 12}
	zeros := func(n int) []byte {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		_, _ = w.Write(make([]byte, n))
		_ = w.Close()
		return b.Bytes()
	}
	pack := func(announced int, size int64, all ...[]byte) []byte {
		b := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(announced))
		for _, data := range all {
			head := []byte{kindBlob<<4 | byte(size&15)}
			for rest := size >> 4; rest > 0; rest >>= 7 {
				head[len(head)-1] |= 0x80
				head = append(head, byte(rest&0x7f))
			}
			b = append(append(b, head...), data...)
		}
		return b
	}
	for name, c := range map[string]struct {
		pack []byte
		code string
	}{
		"more than it says": {pack(1, 10, zeros(1<<20)), "repository_damaged"},
		"a bomb":            {pack(1, 1<<40, zeros(1<<20)), "repository_large"},
		"less than it says": {pack(1, 1<<20, zeros(10)), "repository_damaged"},
		"many small ones": {pack(9, 1000, slices.Repeat([][]byte{zeros(1000)}, 5)...),
			"repository_large"},
		"an absurd count":   {pack(1<<30, 1), "repository_large"},
		"an end in between": {pack(3, 10, zeros(10)), "repository_damaged"},
		"no pack":           {[]byte("<html></html>"), "repository_damaged"},
		"nothing":           {nil, "repository_damaged"},
	} {
		_, err := readPack(bytes.NewReader(c.pack), limits)
		if why, ok := errors.AsType[*Error](err); !ok || why.Code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	// One that is too large is left out, and what follows it is read.
	got, err := readPack(bytes.NewReader(pack(1, 1<<11, zeros(1<<11))), limits)
	if err != nil || len(got.byHash) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// Whatever a host sends, reading it ends, and nothing that is kept is larger than its limits.
func FuzzReadPack(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x30x\x9c\x03\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, pack []byte) {
		limits := Limits{Pack: 1 << 16, Object: 1 << 12, Objects: 1 << 14}
		got, err := readPack(bytes.NewReader(pack), limits)
		if err == nil && got.size > limits.Objects {
			t.Fatal("more is kept than may be")
		}
	})
}

// A delta is applied inside its base, or refused.
func FuzzApplyDelta(f *testing.F) {
	f.Add([]byte("base"), []byte{4, 4, 0x90, 4})
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		if out, err := applyDelta(base, delta, 1<<12); err == nil && len(out) > 1<<12 {
			t.Fatal("it is larger than may be")
		}
	})
}
