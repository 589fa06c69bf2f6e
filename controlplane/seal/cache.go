package seal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// maxCachedKeys bounds the memory of a cache: about 200 bytes each.
const maxCachedKeys = 20_000

// Cache keeps data keys that a service unwrapped in memory, for a time. While the service
// is away, values whose data key is in the cache stay readable.
//
// A key that is used in the second half of its time is unwrapped again in the background.
// What is in use therefore survives an outage of at least half that time. A service that
// refuses to unwrap it again ends its time at once.
type Cache struct {
	Wrapper
	keep time.Duration
	now  func() time.Time

	mu   sync.Mutex
	keys map[[sha256.Size]byte]*cachedKey
}

type cachedKey struct {
	dek     []byte
	until   time.Time
	renewAt time.Time
}

// NewCache caches the data keys of a wrapper. Keep is how long; zero keeps nothing.
func NewCache(w Wrapper, keep time.Duration) *Cache {
	return &Cache{Wrapper: w, keep: keep, now: time.Now, keys: map[[sha256.Size]byte]*cachedKey{}}
}

// Wrap implements Wrapper. What was just sealed is often read next.
func (c *Cache) Wrap(
	ctx context.Context, dek, bound []byte,
) (kid string, wrapped []byte, err error) {
	kid, wrapped, err = c.Wrapper.Wrap(ctx, dek, bound)
	if err == nil {
		c.put(cacheID(kid, wrapped, bound), dek)
	}
	return kid, wrapped, err
}

// Unwrap implements Wrapper.
func (c *Cache) Unwrap(
	ctx context.Context, kid string, wrapped, bound []byte,
) (dek []byte, err error) {
	id := cacheID(kid, wrapped, bound)
	dek, renew := c.getCopy(id)
	if dek == nil {
		if dek, err = c.Wrapper.Unwrap(ctx, kid, wrapped, bound); err == nil {
			c.put(id, dek)
		}
		return dek, err
	}
	if renew {
		go c.renew(id, kid, wrapped, bound)
	}
	return dek, nil
}

// renew unwraps a cached key again.
func (c *Cache) renew(id [sha256.Size]byte, kid string, wrapped, bound []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	dek, err := c.Wrapper.Unwrap(ctx, kid, wrapped, bound)
	switch {
	case err == nil:
		c.put(id, dek)
		clear(dek)
	case !errors.Is(err, ErrUnavailable):
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dropLocked(id)
	}
}

// getCopy returns a copy of a cached key, and whether the caller should renew it.
func (c *Cache) getCopy(id [sha256.Size]byte) (dek []byte, renew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.keys[id]
	if !ok {
		return nil, false
	}
	now := c.now()
	if !now.Before(k.until) {
		c.dropLocked(id)
		return nil, false
	}
	if renew = !now.Before(k.renewAt); renew {
		// One renewal at a time; the next may try when an eighth of the time has passed.
		k.renewAt = now.Add(c.keep / 8)
	}
	return append([]byte(nil), k.dek...), renew
}

func (c *Cache) put(id [sha256.Size]byte, dek []byte) {
	if c.keep <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, have := c.keys[id]; !have && len(c.keys) >= maxCachedKeys {
		c.makeRoomLocked()
	}
	c.dropLocked(id)
	now := c.now()
	c.keys[id] = &cachedKey{dek: append([]byte(nil), dek...), until: now.Add(c.keep),
		renewAt: now.Add(c.keep / 2)}
}

// makeRoomLocked drops what is over, or else any key.
func (c *Cache) makeRoomLocked() {
	now := c.now()
	for id, k := range c.keys {
		if !now.Before(k.until) {
			c.dropLocked(id)
		}
	}
	for id := range c.keys {
		if len(c.keys) < maxCachedKeys {
			return
		}
		c.dropLocked(id)
	}
}

// dropLocked forgets a key and overwrites it.
func (c *Cache) dropLocked(id [sha256.Size]byte) {
	if k, ok := c.keys[id]; ok {
		clear(k.dek)
		delete(c.keys, id)
	}
}

// cacheID is unambiguous: each part is preceded by its length. The bytes that a key is
// bound to belong to it, so that the cache refuses what the service would refuse.
func cacheID(kid string, wrapped, bound []byte) [sha256.Size]byte {
	var b []byte
	for _, part := range [][]byte{[]byte(kid), wrapped, bound} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return sha256.Sum256(b)
}
