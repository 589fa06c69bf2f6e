//go:build !failpoints

package failpoint

// FromEnv does nothing in builds without the tag failpoints.
func FromEnv(string) Hook { return nil }
