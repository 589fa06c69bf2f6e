package controlplane_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
)

func inventoryWithCheck(id string, s controlplane.Severity) *controlplane.Inventory {
	return &controlplane.Inventory{Checks: []controlplane.Check{
		{ID: id, Severity: s, Detail: "because"}}}
}

// Only checks that endanger deployments block new ones: a full disk is placement's business, and a
// warning blocks nothing.
func TestInventory_Blocked(t *testing.T) {
	for _, w := range []struct {
		id       string
		severity controlplane.Severity
		blocked  bool
	}{
		{"isolation", controlplane.SeverityCritical, true},
		{"memory-limit", controlplane.SeverityCritical, true},
		{"isolation", controlplane.SeverityWarning, false},
		{"isolation", controlplane.SeverityUnknown, false},
		{"disk", controlplane.SeverityCritical, false},
	} {
		if got := inventoryWithCheck(w.id, w.severity).BlockedReason(); (got != "") != w.blocked {
			t.Errorf("%s %s: %q", w.id, w.severity, got)
		}
	}
	var unknown *controlplane.Inventory
	if unknown.BlockedReason() != "" {
		t.Error("a node that told nothing is refused for another reason")
	}
}

// An alarm outlives an agent that restarts and has not tried again, and ends with the first answer.
func TestInventory_CarriesAnAlarm(t *testing.T) {
	alarm := inventoryWithCheck("isolation", controlplane.SeverityCritical)
	for name, w := range map[string]struct {
		now     *controlplane.Inventory
		blocked bool
	}{
		"not tried yet":        {&controlplane.Inventory{}, true},
		"could not be tried":   {inventoryWithCheck("isolation", controlplane.SeverityUnknown), true},
		"is fine again":        {inventoryWithCheck("isolation", controlplane.SeverityOK), false},
		"is switched off":      {inventoryWithCheck("isolation", controlplane.SeverityWarning), false},
		"another check's turn": {inventoryWithCheck("disk", controlplane.SeverityOK), true},
	} {
		w.now.CarryAlarms(alarm)
		if got := w.now.BlockedReason() != ""; got != w.blocked {
			t.Errorf("%s: blocked %v", name, got)
		}
	}
	calm := &controlplane.Inventory{}
	calm.CarryAlarms(inventoryWithCheck("isolation", controlplane.SeverityOK))
	calm.CarryAlarms(nil)
	if len(calm.Checks) != 0 {
		t.Errorf("carried %+v", calm.Checks)
	}
}

// A node whose engine does not answer is degraded, but not blocked for good; what
// it is stays known, also from an agent that has not met its engine yet.
func TestInventory_OfANodeWithoutItsEngine(t *testing.T) {
	before := &controlplane.Inventory{Hostname: "n", CPU: 8, Memory: 16 << 30,
		Warnings: []string{"old"}}
	down := inventoryWithCheck("engine", controlplane.SeverityCritical)
	down.CarryAlarms(before)
	if down.CPU != 8 || down.Hostname != "n" || len(down.Warnings) != 0 || !down.EngineDown() {
		t.Errorf("carried %+v", down)
	}
	if down.BlockedReason() != "" || down.DegradedReason() != "because" {
		t.Errorf("blocked %q, degraded %q", down.BlockedReason(), down.DegradedReason())
	}
	up := inventoryWithCheck("engine", controlplane.SeverityOK)
	up.CarryAlarms(down)
	if up.EngineDown() || up.CPU != 0 || up.DegradedReason() != "" {
		t.Errorf("with its engine back it is %+v", up)
	}
}
