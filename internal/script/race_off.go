//go:build !race

package script

// raceFactor is how much more memory the process may map than its script may use.
const raceFactor = 1
