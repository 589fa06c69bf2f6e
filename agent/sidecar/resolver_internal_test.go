package sidecar

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

// A resolver that does not answer takes away no address that it gave before; one
// that says that there is no such service does, and a new address counts at once.
func TestNames_OutliveTheResolver(t *testing.T) {
	var found []netip.Addr
	var fails error
	n := newServiceResolver(func(context.Context, string, string) ([]netip.Addr, error) {
		return found, fails
	})
	down := &net.DNSError{Err: "connection refused", IsTemporary: true}
	absent := &net.DNSError{Err: "no such host", IsNotFound: true}
	for i, step := range []struct {
		says string
		err  error
		want string
	}{
		{"", down, ""},
		{"10.0.0.3", nil, "10.0.0.3"},
		{"", down, "10.0.0.3"},
		{"10.0.0.4", nil, "10.0.0.4"},
		{"", context.DeadlineExceeded, "10.0.0.4"},
		{"", absent, ""},
		{"", down, ""},
	} {
		found, fails = nil, step.err
		if step.says != "" {
			found = []netip.Addr{netip.MustParseAddr(step.says)}
		}
		got, err := n.lookupAddress(t.Context(), "web")
		if step.want == "" {
			if !errors.Is(err, step.err) {
				t.Errorf("step %d: %s, %v", i, got, err)
			}
			continue
		}
		if err != nil || got.String() != step.want {
			t.Errorf("step %d: %s, %v; wanted %s", i, got, err, step.want)
		}
	}
}
