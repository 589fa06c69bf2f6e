//go:build race

package script

// raceFactor is large because the race detector keeps several bytes for each byte in use.
const raceFactor = 32
