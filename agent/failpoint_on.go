//go:build failpoints

package agent

// compactAt is so low here that a short life visits the failpoints of
// rewriting the journal too.
const compactAt = 8 << 10
