//go:build kubernetes && releases

package main_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/nullops/nullops/agent/kubernetes/clustertest"
)

// TestKubernetesRelease makes a release, installs both of its charts with its images, and deploys
// the example with them. Nothing is left in the cluster.
func TestKubernetesRelease(t *testing.T) {
	w := newClusterWorld(t)
	w.cluster.leavesNothing(t)
	clustertest.EnforcePolicies(t)
	r := makeRelease(t, "--only", "programs,archives,images,charts,sums")
	w.binary = r.unpackProgram(t)
	i := &installation{product: &product{w: w, dir: shortDir(t), nodes: &sync.Map{}}, k: w.cluster,
		charts: r.unpackCharts(t)}
	i.ownImage = r.pushImage(t, w.cluster, "nullops/controlplane")
	i.agentImage = r.pushImage(t, w.cluster, "nullops/agent")
	i.install(t)
	i.openFirstPage(t)
	n := i.addCluster(t, "qa-cluster", "--address=nullops-qa-cluster.nullops-qa-cluster.svc:5000")
	if shown := n.show(t); textOf(shown.Build) != releasedVersion {
		t.Errorf("the agent is of the release %q", textOf(shown.Build))
	}
	i.applyShop(t)
	d := i.admin.deployReady(t, "shop", "released", nil)
	i.openShop(t, d)
	i.admin.remove(t, d.Id)
	n.nothingLeft(t, d.Id)
	i.uninstall(t)
}

func (r madeRelease) unpackProgram(t *testing.T) (program string) {
	t.Helper()
	base, to := "nullops-"+releasedVersion+"-linux-"+runtime.GOARCH, t.TempDir()
	runTool(t, "", "tar", "-xzf", filepath.Join(r.dir, base+".tar.gz"), "-C", to)
	return filepath.Join(to, base, "nullops")
}

func (r madeRelease) unpackCharts(t *testing.T) (folder string) {
	t.Helper()
	to := t.TempDir()
	for _, chart := range []string{"nullops", "nullops-agent"} {
		file := chart + "-" + strings.TrimPrefix(releasedVersion, "v") + ".tgz"
		runTool(t, "", "tar", "-xzf", filepath.Join(r.dir, file), "-C", to)
		text, err := os.ReadFile(filepath.Join(to, chart, "Chart.yaml"))
		if err != nil || !strings.Contains(string(text), "appVersion: "+releasedVersion) {
			t.Errorf("%s is not of this release: %v\n%s", file, err, text)
		}
	}
	return to
}

// pushImage takes an image out of the file for 'docker load', and pushes it where the cluster
// pulls from.
func (r madeRelease) pushImage(t *testing.T, k *cluster, repository string) string {
	t.Helper()
	named := repository + ":" + releasedVersion
	tag, err := name.NewTag(named)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(filepath.Join(r.dir,
		"nullops-images-"+releasedVersion+"-linux-"+runtime.GOARCH+".tar"), &tag)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(k.plain+"/"+named, name.Insecure)
	if err == nil {
		err = remote.Write(ref, image, remote.WithContext(t.Context()))
	}
	if err != nil {
		t.Fatalf("push %s: %v", named, err)
	}
	return k.registry + "/" + named
}
