package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// Connections wait for what the ingress needs to serve them, and not for ever.
func TestAwaitStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		routes, never := make(chan struct{}), make(chan struct{})
		time.AfterFunc(time.Second, func() { close(routes) })
		began := time.Now()
		if awaitStart(t.Context(), routes); time.Since(began) != time.Second {
			t.Errorf("waited %s for a table that came after a second", time.Since(began))
		}
		if awaitStart(t.Context(), routes, never); time.Since(began) != time.Second+startPatience {
			t.Errorf("waited %s in all", time.Since(began))
		}
	})
}
