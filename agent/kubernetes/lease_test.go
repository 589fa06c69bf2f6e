//go:build kubernetes

package kubernetes_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/nullops/nullops/agent/kubernetes"
)

// One agent of an installation holds the Lease. Another one waits until it has ended, and then
// nothing is left of it.
func TestNew_HoldsOneLease(t *testing.T) {
	t.Parallel()
	install := uuid.NewString()
	named := func(holder string) func(*kubernetes.Config) {
		return func(c *kubernetes.Config) {
			c.Install, c.AgentNamespace, c.Holder = install, "default", holder
			c.Lost = func(err error) { t.Errorf("%s: %v", holder, err) }
		}
	}
	first := newRigWith(t, named("one"))
	config := first.config
	named("two")(&config)
	within, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if k, err := kubernetes.New(within, config); err == nil {
		_ = k.Close()
		t.Error("two agents of one installation run side by side")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := kubernetes.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	for _, l := range newAdmin(t).list("/apis/coordination.k8s.io/v1/namespaces/default/leases").
		Items {
		if l.Metadata.Labels["nullops.install"] == install {
			t.Errorf("the lease %s is left", l.Metadata.Name)
		}
	}
}
