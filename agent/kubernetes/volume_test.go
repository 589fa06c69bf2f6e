//go:build kubernetes

package kubernetes_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/uuid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// inClass has volumes made of a StorageClass.
func inClass(name string) func(*kubernetes.Config) {
	return func(c *kubernetes.Config) { c.StorageClass, c.VolumeSize = name, "1Gi" }
}

// newDeployment makes a namespace, and removes it at the end of the test.
func (r *rig) newDeployment() string {
	r.t.Helper()
	id := uuid.NewString()
	if err := r.Prepare(r.t.Context(), id); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), 2*time.Minute)
		defer cancel()
		if left, err := r.RemoveDeployment(ctx, id); err != nil || len(left) > 0 {
			r.t.Errorf("removing leaves %v, %v", left, err)
		}
	})
	return id
}

// start starts a service and waits until it is ready.
func (r *rig) start(s agent.ServiceSpec) {
	r.t.Helper()
	if err := r.StartService(r.t.Context(), s); err != nil {
		r.t.Fatal(err)
	}
	r.awaitReady(s)
}

func (r *rig) awaitReady(s agent.ServiceSpec) {
	r.t.Helper()
	r.awaitProbe(s, "is ready", func(p agent.ProbeResult) bool {
		return p.Health == wire.HealthHealthy
	})
}

// awaitProbe waits until a probe answers as it should, and fails with the last answer.
func (r *rig) awaitProbe(
	s agent.ServiceSpec, what string, is func(agent.ProbeResult) bool,
) agent.ProbeResult {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	for {
		p, err := r.Probe(ctx, s)
		if err == nil && is(p) {
			return p
		}
		if wait.Sleep(ctx, 100*time.Millisecond) != nil {
			r.t.Fatalf("service %s does not say that it %s: %+v, %v", s.Step, what, p, err)
		}
	}
}

// echoService is one that answers on port 7.
func (r *rig) echoService(deployment string, step pipeline.StepKey) agent.ServiceSpec {
	actor := buildProgram(r.t, "../docker/dockertest/testdata/actor")
	image := r.publish("nullops-test/actor", "actor", actor,
		v1.Config{Entrypoint: []string{"/actor"}})
	return agent.ServiceSpec{Deployment: deployment, Run: "run", Step: step, Image: image,
		Command: []string{"echo", "7"}, Ready: &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 7}}}
}

// packVolume is an archive as a Docker Engine makes it.
func packVolume(t *testing.T, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := strings.Repeat("x", int(h.Size))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entries describes what an archive has, one line each.
func entries(archive io.Reader) (all []string, err error) {
	r := tar.NewReader(archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%c %s %o %d:%d %s %d", h.Typeflag, h.Name, h.Mode&0o7777,
			h.Uid, h.Gid, h.Linkname, len(content)))
	}
}

// A service with volumes has a StatefulSet, and its volumes keep what is in them while it is
// stopped. They are copied whole, with owners, modes and links, and go with the deployment.
func TestKubernetes_KeepsAndCopiesVolumes(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	a := newAdmin(t)
	r := newRigWith(t, inClass(a.makeClass()))
	deployment := r.newDeployment()
	db := r.echoService(deployment, "db")
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}, {Name: "tmp", Path: "/tmp"}}
	r.start(db)
	namespace := r.namespaceOf(deployment)
	a.mustDo(http.MethodGet, "/apis/apps/v1/namespaces/"+namespace+"/statefulsets/db", "")
	if _, err := r.StopService(t.Context(), deployment, "db"); err != nil {
		t.Fatal(err)
	}
	data := agent.VolumeName{Deployment: deployment, Service: "db", Name: "data"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err := r.WriteVolume(t.Context(), data, bytes.NewReader(packVolume(t,
		&tar.Header{Typeflag: tar.TypeDir, Name: "volume/", Mode: 0o750, Uid: 7, Gid: 8, ModTime: at},
		&tar.Header{Typeflag: tar.TypeReg, Name: "volume/file", Mode: 0o640, Uid: 70, Gid: 71,
			Size: 100_000, ModTime: at},
		&tar.Header{Typeflag: tar.TypeSymlink, Name: "volume/link", Linkname: "file", Mode: 0o777},
		&tar.Header{Typeflag: tar.TypeLink, Name: "volume/other", Linkname: "volume/file",
			Mode: 0o640, Uid: 70, Gid: 71})))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"5 volume/ 750 7:8  0", "0 volume/file 640 70:71  100000",
		"2 volume/link 777 0:0 file 0", "1 volume/other 640 70:71 volume/file 0"}
	r.start(db)
	if got := r.readVolume(data); !slices.Equal(got, want) {
		t.Errorf("while the service runs, its volume has %q", got)
	}
	// An empty volume begins with what the image has there: /tmp is everybody's.
	seeded := agent.VolumeName{Deployment: deployment, Service: "db", Name: "tmp"}
	if got := r.readVolume(seeded); !slices.Equal(got, []string{"5 volume/ 1777 0:0  0"}) {
		t.Errorf("the volume over a folder of the image has %q", got)
	}
	if n, err := r.VolumeBytes(t.Context(), deployment); err != nil || n < 100_000 || n > 1<<20 {
		t.Errorf("the volumes take %d bytes: %v", n, err)
	}
	if err := r.WriteVolume(t.Context(), data, bytes.NewReader(nil)); err == nil ||
		!strings.Contains(err.Error(), "runs") {
		t.Errorf("a volume in use was written: %v", err)
	}
	r.awaitNothing(deployment, a)
}

func (r *rig) readVolume(v agent.VolumeName) []string {
	r.t.Helper()
	archive, err := r.ReadVolume(r.t.Context(), v)
	if err != nil {
		r.t.Fatal(err)
	}
	all, err := entries(archive)
	if err := errors.Join(err, archive.Close()); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// awaitNothing removes a deployment, and waits until the cluster has nothing of it: no namespace,
// and no volume.
func (r *rig) awaitNothing(deployment string, a admin) {
	r.t.Helper()
	if left, err := r.RemoveDeployment(r.t.Context(), deployment); err != nil || len(left) > 0 {
		r.t.Errorf("removing leaves %v, %v", left, err)
	}
	namespace := r.namespaceOf(deployment)
	if status, text := a.request(http.MethodGet, "/api/v1/namespaces/"+namespace, ""); status != 404 {
		r.t.Errorf("its namespace is still there: %s", text)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	for {
		left := 0
		for _, v := range a.list("/api/v1/persistentvolumes").Items {
			if v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == namespace {
				left++
			}
		}
		if left == 0 {
			return
		}
		if wait.Sleep(ctx, 100*time.Millisecond) != nil {
			r.t.Fatalf("%d of its volumes are still there", left)
		}
	}
}

// A StorageClass that is not there is one clear error, and nothing is made for the service.
func TestStartService_NamesMissingStorageClass(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	class := a.makeClass()
	r := newRigWith(t, inClass("nowhere"))
	deployment := r.newDeployment()
	db := r.echoService(deployment, "db")
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	err := r.StartService(t.Context(), db)
	for _, want := range []string{"no StorageClass nowhere", class,
		"agent.kubernetes.storageclass"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	all, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Step != "" || o.Kind == agent.KindVolume {
			t.Errorf("it made %+v", o)
		}
	}
}
