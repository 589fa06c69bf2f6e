// Package dockertest holds what tests on a real Docker Engine share: images of
// an actor that misbehaves on request, a private engine that a test may kill,
// a scan for leaked objects and a scan for leaked secrets.
//
// Both scans are only as good as what they can find, so their own tests plant
// a leak of each kind first.
package dockertest
