//go:build !failpoints

package agent

// compactAt is where rewriting the journal is worth it, in bytes.
const compactAt = 4 << 20
