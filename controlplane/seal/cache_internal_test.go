package seal

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"
)

// echo returns the data key it was given, in one slice that the test can look at.
type echo struct {
	Wrapper
	dek []byte
}

func (e *echo) Unwrap(context.Context, string, []byte, []byte) ([]byte, error) {
	return e.dek, nil
}

func cacheAt(now *time.Time, w Wrapper) *Cache {
	c := NewCache(w, time.Hour)
	c.now = func() time.Time { return *now }
	return c
}

func idOf(n int) (id [32]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

// A full cache makes room by what is over, and by any one key if nothing is. A key that it has
// already takes no room.
func TestCache_IsBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := cacheAt(&now, nil)
	fill := func(from, to int) {
		for n := from; n < to; n++ {
			c.put(idOf(n), []byte{1, 2})
		}
	}
	fill(0, maxCachedKeys)
	c.put(idOf(0), []byte{3, 4})
	if len(c.keys) != maxCachedKeys {
		t.Fatalf("%d keys after one came twice", len(c.keys))
	}
	c.put(idOf(maxCachedKeys), []byte{5, 6})
	if dek, _ := c.getCopy(idOf(maxCachedKeys)); len(c.keys) != maxCachedKeys || dek == nil {
		t.Fatalf("%d keys after one too many, which is %v", len(c.keys), dek)
	}
	now = now.Add(time.Hour)
	c.put(idOf(-1), []byte{7, 8})
	if dek, _ := c.getCopy(idOf(-1)); len(c.keys) != 1 || dek == nil {
		t.Errorf("%d keys, and all but %v are over", len(c.keys), dek)
	}
}

// Whatever is dropped, replaced or renewed is overwritten in memory.
func TestCache_OverwritesKeys(t *testing.T) {
	now := time.Unix(1e9, 0)
	e := &echo{dek: []byte{9, 9}}
	c := cacheAt(&now, e)
	put := func() []byte {
		c.put(idOf(1), []byte{1, 2})
		return c.keys[idOf(1)].dek
	}
	isClear := func(dek []byte) bool { return bytes.Equal(dek, []byte{0, 0}) }
	old := put()
	if put(); !isClear(old) {
		t.Error("a replaced key is in memory")
	}
	old = c.keys[idOf(1)].dek
	c.renew(idOf(1), "k1", nil, nil)
	got := c.keys[idOf(1)].dek
	if !isClear(old) || !isClear(e.dek) || !bytes.Equal(got, []byte{9, 9}) {
		t.Errorf("after a renewal %v, %v and %v are in memory", old, e.dek, got)
	}
	old = c.keys[idOf(1)].dek
	now = now.Add(time.Hour)
	if dek, renew := c.getCopy(idOf(1)); dek != nil || renew || !isClear(old) || len(c.keys) != 0 {
		t.Errorf("a key that is over is %v, and %v is in memory", dek, old)
	}
}

// A key is due for renewal after half of its time, and then once in an eighth of it.
func TestCache_RenewsOneAtATime(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := cacheAt(&now, nil)
	c.put(idOf(1), []byte{1, 2})
	const half, eighth = 30 * time.Minute, 450 * time.Second
	for _, s := range []struct {
		after time.Duration
		due   bool
	}{
		{half - 1, false}, {1, true}, {0, false}, {eighth - 1, false}, {1, true}, {time.Minute, false},
	} {
		now = now.Add(s.after)
		if dek, due := c.getCopy(idOf(1)); due != s.due || !bytes.Equal(dek, []byte{1, 2}) {
			t.Errorf("after %s more it is due: %v, with %v", s.after, due, dek)
		}
	}
	none := NewCache(nil, 0)
	if none.put(idOf(1), []byte{1, 2}); len(none.keys) != 0 {
		t.Error("a cache that keeps nothing keeps a key")
	}
	brief := NewCache(nil, 1)
	if brief.put(idOf(1), []byte{1, 2}); len(brief.keys) != 1 {
		t.Error("a cache that keeps for a moment keeps nothing")
	}
}
