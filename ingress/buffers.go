package ingress

import "sync"

// copySize is what bodies are copied in: four records of the TLS that they come by.
const copySize = 64 << 10

// buffers pools the memory that bodies are copied through. It keeps pointers to arrays, since a
// slice put into a sync.Pool is an allocation by itself.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[copySize]byte); ok {
		return p[:]
	}
	return make([]byte, copySize)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buf []byte) {
	if len(buf) == copySize {
		b.pool.Put((*[copySize]byte)(buf))
	}
}
