package fleet

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// Forwarding a port of a service on loopback addresses fails with a remedy.
func TestRefusedTunnel_NamesLoopback(t *testing.T) {
	err := refusedTunnel(&wire.TunnelError{Status: 502, Reason: "it refuses",
		Listens: wire.ListenAddrs{netip.MustParseAddrPort("127.0.0.1:80")}})
	e, ok := errors.AsType[*controlplane.Error](err)
	if !ok || e.Message != "The service listens on 127.0.0.1:80 only." ||
		e.Remedy != "Make it listen on 0.0.0.0." {
		t.Errorf("it became %v", err)
	}
}
