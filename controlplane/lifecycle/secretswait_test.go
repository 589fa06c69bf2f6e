package lifecycle_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// A deployment shows which value it waits for, its own node says so, and what came meanwhile
// is not taken back.
func TestSecretsWait_IsShown(t *testing.T) {
	r := newRig(t)
	const why = "secret DB_PASSWORD waits for its value at apps/shop in Vault"
	d := r.createDeployment("cart")
	stranger := controlplane.NewID[controlplane.NodeID]()
	r.failOnError(nil, r.NoteSecretsWait(t.Context(), system, stranger, d.ID, why))
	if got := r.get(d.ID).Detail; got == why {
		t.Error("another node changed what is shown")
	}
	for range 2 {
		r.failOnError(nil, r.NoteSecretsWait(t.Context(), system, r.node, d.ID, why))
	}
	if got := r.get(d.ID).Detail; got != why {
		t.Errorf("it shows %q", got)
	}
	r.failOnError(nil, r.ClearSecretsWait(t.Context(), system, r.node, d.ID, "something else"))
	if got := r.get(d.ID).Detail; got != why {
		t.Errorf("after something else came: %q", got)
	}
	r.failOnError(nil, r.ClearSecretsWait(t.Context(), system, r.node, d.ID, why))
	if got := r.get(d.ID).Detail; got != "" {
		t.Errorf("after the values came: %q", got)
	}
}
