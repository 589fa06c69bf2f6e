//go:build kubernetes

package kubernetes_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// What keeps a service from starting is one sentence with the cluster's own reason.
func TestProbe_SaysWhyTheClusterDoesNotStartAService(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	for name, c := range map[string]struct {
		// before is called with the service's namespace and the service.
		before func(namespace string, s *agent.ServiceSpec)
		want   []string
	}{
		"no room": {func(_ string, s *agent.ServiceSpec) { s.Resources.CPU = 1000 },
			[]string{"the cluster has no room for it", "Insufficient cpu"}},
		"no image": {func(_ string, s *agent.ServiceSpec) {
			s.Image.Digest = "sha256:" + strings.Repeat("1", 64)
		}, []string{"its image cannot be pulled", "not found"}},
		"no command": {func(_ string, s *agent.ServiceSpec) {
			s.Entrypoint = []string{"/nothing"}
		}, []string{"cannot be started", "/nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			deployment := r.newDeployment()
			web := r.echoService(deployment, "web")
			c.before(r.namespaceOf(deployment), &web)
			if err := r.StartService(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			p := r.awaitProbe(web, fmt.Sprint("says ", c.want), func(p agent.ProbeResult) bool {
				for _, want := range c.want {
					if !strings.Contains(p.Detail, want) {
						return false
					}
				}
				return true
			})
			if strings.Contains(p.Detail, "\n") {
				t.Errorf("it is more than one line: %q", p.Detail)
			}
		})
	}
}

// A quota that is made after a service has been started has no room for its next pod.
func TestProbe_SaysThatAQuotaHasNoRoom(t *testing.T) {
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	deployment := r.newDeployment()
	namespace := r.namespaceOf(deployment)
	web := r.echoService(deployment, "web")
	r.start(web)
	a.mustDo(http.MethodPost, "/api/v1/namespaces/"+namespace+"/resourcequotas",
		`{"metadata":{"name":"small"},"spec":{"hard":{"limits.memory":"1Mi"}}}`)
	_, pod, _ := strings.Cut(a.machineOf(namespace, "web"), " ")
	a.mustDo(http.MethodDelete, "/api/v1/namespaces/"+namespace+"/pods/"+pod, "")
	r.awaitProbe(web, "says why it has no pod", func(p agent.ProbeResult) bool {
		return strings.Contains(p.Detail, "a quota of its namespace, which is not NullOps'") &&
			strings.Contains(p.Detail, "exceeded quota: small")
	})
}

// A volume that cannot be mounted is told from one that is being made.
func TestProbe_SaysWhyAVolumeIsNotMounted(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	a := newAdmin(t)
	class := a.makeClassOf("nullops.test/none")
	r := newRigWith(t, inClass(class))
	deployment := r.newDeployment()
	db := r.echoService(deployment, "db")
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	if err := r.StartService(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	r.awaitProbe(db, "says that its volume is not there", func(p agent.ProbeResult) bool {
		return strings.Contains(p.Detail, "PersistentVolumeClaim")
	})
	// Now there is one, whose storage is not on the machine.
	const volumes = "/api/v1/persistentvolumes"
	a.mustDo(http.MethodPost, volumes, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{
		"storageClassName":%q,"capacity":{"storage":"10Gi"},
		"accessModes":["ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Retain",
		"hostPath":{"path":"/nowhere/at/all","type":"Directory"}}}`, class, class))
	t.Cleanup(func() { a.mustDo(http.MethodDelete, volumes+"/"+class, "") })
	r.awaitProbe(db, "says that its volume cannot be mounted", func(p agent.ProbeResult) bool {
		return strings.Contains(p.Detail, "its volume cannot be mounted: ") &&
			strings.Contains(p.Detail, "is not a directory")
	})
}

// Exit code 137 has a cause. Lack of memory is told from a process that is killed by somebody.
func TestProbe_TellsTheCausesOf137Apart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	deployment := r.newDeployment()
	hungry := r.echoService(deployment, "hungry")
	hungry.Command, hungry.Ready, hungry.Once = []string{"eat"}, nil, true
	hungry.Resources.MemoryMiB = 64
	killed := r.echoService(deployment, "killed")
	killed.Command, killed.Ready, killed.Once = []string{"exit", "137"}, nil, true
	for _, s := range []agent.ServiceSpec{hungry, killed} {
		if err := r.StartService(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		p := r.awaitProbe(s, "ended", func(p agent.ProbeResult) bool { return p.Ended })
		if p.ExitCode != 137 || p.OOM != (s.Step == "hungry") || p.Cluster != "" {
			t.Errorf("the job %s ended as %+v", s.Step, p)
		}
	}
}

// A namespace that does not end is stuck, and what keeps it is named: when it is removed, and when
// the same deployment would be made again.
func TestRemoveDeployment_NamesWhatKeepsANamespace(t *testing.T) {
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	deployment := r.newDeployment()
	space := "/api/v1/namespaces/" + r.namespaceOf(deployment)
	a.mustDo(http.MethodPost, space+"/configmaps",
		`{"metadata":{"name":"kept","finalizers":["nullops.test/keeps"]}}`)
	t.Cleanup(func() {
		a.mustDo(http.MethodPatch, space+"/configmaps/kept", `{"metadata":{"finalizers":null}}`)
	})
	remove := func() ([]agent.Object, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return r.RemoveDeployment(ctx, deployment)
	}
	if _, err := remove(); err == nil {
		t.Fatal("it is said to be removed")
	}
	// The cluster says it some time later, and a busy one may need more than this time to be asked.
	a.await("removing says that it is stuck, and what keeps it", func() bool {
		left, err := remove()
		if err == nil {
			t.Fatal("it is said to be removed")
		}
		return len(left) > 0 && strings.Contains(err.Error(), "is stuck") &&
			strings.Contains(err.Error(), "nullops.test/keeps")
	})
	err := r.Prepare(t.Context(), deployment)
	if err == nil || !strings.Contains(err.Error(), "is still being removed") ||
		!strings.Contains(err.Error(), "nullops.test/keeps") {
		t.Errorf("preparing says %v", err)
	}
}
