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

// What passes by itself can be tried again; what does not, cannot.
func TestRefusedCheck_SaysWhetherItPasses(t *testing.T) {
	later, final := refusedCheck(503, "it waits for secrets"), refusedCheck(409, "it is not ready")
	if e, ok := errors.AsType[*controlplane.Error](later); !ok ||
		e.Kind != controlplane.Unavailable || e.RetryAfter == 0 {
		t.Errorf("503 became %v", later)
	}
	if e, ok := errors.AsType[*controlplane.Error](final); !ok || e.Kind != controlplane.Conflict {
		t.Errorf("409 became %v", final)
	}
}
