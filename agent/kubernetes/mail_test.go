//go:build kubernetes

package kubernetes_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/kubernetes/clustertest"
	"github.com/nullops/nullops/pipeline"
)

// A deployment's mail port is open to its own services and to nobody else's, and the one for the
// agent to nobody's. It runs alone: rules that enforce network policies are for every pod.
//
// threat: T55
func TestMailPort_AdmitsItsOwn(t *testing.T) {
	r, a := newRig(t), newAdmin(t)
	clustertest.EnforcePolicies(t)
	own, other := r.newDeployment(), r.newDeployment()
	for _, id := range []string{own, other} {
		if err := r.PrepareWithMail(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		r.start(r.echoService(id, "web"))
	}
	address := podAddressOf(a, r.namespaceOf(own))
	for _, c := range []struct {
		from, to string
		want     bool
	}{{own, "mail:1025", true}, {own, address + ":1025", true}, {other, address + ":1025", false},
		{own, "mail:1026", false}, {other, address + ":1026", false}} {
		if got := r.runInside(c.from, "web", "/actor", "reach", c.to) == 0; got != c.want {
			t.Errorf("%s is reached: %t", c.to, got)
		}
	}
}

// podAddressOf is the address of the pod that takes a deployment's mails.
func podAddressOf(a admin, namespace string) string {
	a.t.Helper()
	return a.list("/api/v1/namespaces/" + namespace +
		"/pods?labelSelector=nullops.network%3Dmail").Items[0].Status.PodIP
}

// A mail port whose pod somebody removed has another one, and one whose workload is gone is said to
// be missing until it is made again. The project's limit has room for it beside services that use
// the limit up, also in a deployment that had none before.
func TestMailPort_IsMadeAgain(t *testing.T) {
	t.Parallel()
	r, a := newRig(t), newAdmin(t)
	id := r.newDeployment()
	limits := pipeline.Resources{CPU: 0.2, MemoryMiB: 64}
	web := r.echoService(id, "web")
	web.Resources = limits
	prepare := func() {
		t.Helper()
		err := r.PrepareWithMail(t.Context(), id)
		if err == nil {
			err = r.LimitDeployment(t.Context(), id, limits, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.LimitDeployment(t.Context(), id, limits, 1); err != nil {
		t.Fatal(err)
	}
	r.start(web)
	prepare()
	r.acceptFrom(id)

	namespace := r.namespaceOf(id)
	a.mustDo(http.MethodDelete, "/api/v1/namespaces/"+namespace+
		"/pods?labelSelector=nullops.network%3Dmail", "")
	r.acceptFrom(id)

	a.mustDo(http.MethodDelete, "/apis/apps/v1/namespaces/"+namespace+"/deployments/mail", "")
	all, err := r.List(t.Context())
	if err != nil || !slices.ContainsFunc(all, func(o agent.Object) bool {
		return o.Kind == agent.KindRelay && o.Deployment == id && !o.Running
	}) {
		t.Errorf("without its workload, there is %+v, %v", all, err)
	}
	prepare()
	r.acceptFrom(id)
}

// acceptFrom has a service connect to its mail port until the agent gets the connection.
func (r *rig) acceptFrom(id string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	came := make(chan error, 1)
	go func() {
		for {
			conn, err := r.AcceptMail(ctx, id)
			if err == nil {
				err = conn.Close()
			}
			if err == nil || ctx.Err() != nil {
				came <- err
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	for {
		select {
		case err := <-came:
			if err != nil {
				r.t.Fatalf("no connection came: %v", err)
			}
			return
		default:
			r.runInside(id, "web", "/actor", "reach", "mail:1025")
		}
	}
}
