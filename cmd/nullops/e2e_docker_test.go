package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
)

// containers returns all about a deployment's containers, by step; the relay's is under "relay".
func (n *node) containers(t *testing.T, deployment string) map[string]container.InspectResponse {
	t.Helper()
	api := dockertest.Client(t, n.docker)
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true,
		Filters: client.Filters{}.Add("label", "nullops.deployment="+deployment)})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]container.InspectResponse{}
	for _, c := range list.Items {
		r, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
		if err != nil {
			continue // Gone in between.
		}
		key := c.Labels["nullops.step"]
		if c.Labels["nullops.kind"] == "relay" {
			key = "relay"
		}
		found[key] = r.Container
	}
	return found
}

// readEnviron returns what a process sees as its environment.
func readEnviron(t *testing.T, pid int) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", formatNumber(pid), "environ"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for pair := range strings.SplitSeq(string(data), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

// dataRoot is where the engine keeps everything on disk.
func (n *node) dataRoot(t *testing.T) string {
	t.Helper()
	info, err := dockertest.Client(t, n.docker).Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return info.Info.DockerRootDir
}

// dump is the whole database as text.
func (p *product) dump(t *testing.T) []byte {
	t.Helper()
	tools, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	if err != nil || len(tools) == 0 {
		t.Fatalf("find pg_dump: %v", err)
	}
	c := exec.CommandContext(t.Context(), tools[len(tools)-1], "--dbname="+p.database)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("pg_dump: %v: %s", err, errs.String())
	}
	return out.Bytes()
}

// sightings is the canary scan: every place where a value of the product could
// be, whatever its spelling.
func (p *product) sightings(t *testing.T, n *node, value string) []string {
	t.Helper()
	texts := map[string][]byte{"database dump": p.dump(t)}
	if k := p.w.cluster; k != nil {
		hits, err := dockertest.FindSecret(t.Context(), value, dockertest.SecretPlaces{
			Folders: append(k.secretPlaces(), n.data, p.dir), Texts: texts})
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	root := n.dataRoot(t)
	// Where containerd keeps images and containers' file systems, as with Engine 29.
	apart := filepath.Join(root, "containerd", "daemon", "io.containerd.")
	hits, err := dockertest.FindSecret(t.Context(), value, dockertest.SecretPlaces{
		Host: n.docker,
		Folders: []string{n.data, p.dir, filepath.Join(root, "containers"),
			filepath.Join(root, "volumes"), filepath.Join(root, "overlay2"),
			filepath.Join(root, "network"), apart + "snapshotter.v1.overlayfs",
			apart + "metadata.v1.bolt"},
		Texts: texts,
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}
