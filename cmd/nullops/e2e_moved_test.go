package main_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// moveWithData takes a deployment with data to another node: not while its pipeline says
// no, not when that node's agent dies in the middle, and then twice.
func moveWithData(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	image := dockertest.PublishActorImage(t, w.docker, "nullops-test/keeping", `ENTRYPOINT ["/actor"]`)
	p.admin.put(t, "/services/keeping", object{"registry": "local", "image": image.Repository,
		"tag_mode": "pinned", "tag": image.Tag}, nil)
	p.define(t, "keeps", keepingService(false), neverRestarted())
	p.define(t, "stays", keepingService(true))
	left, right := p.enrol(t, "left", "qa"), p.enrol(t, "right", "qa")
	stays := p.admin.deployReady(t, "stays", "stays", nil)
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/deployments/"+stays.Id+"/move",
		object{}, "stay on their node", "web/data")
	p.admin.remove(t, stays.Id)

	d := p.admin.deployReady(t, "keeps", "keeps", nil)
	from, to := left, right
	if textOf(d.Node) == right.name {
		from, to = right, left
	}
	url, once := serviceURL(t, d, "web"), serviceURL(t, d, "once")
	p.answers(t, url)
	p.answers(t, once)
	from.fill(t, d.Id)
	before, container := from.describeVolume(t, d.Id), from.container(t, d.Id)

	p.admin.move(t, "keeps")
	eventually(t, "the volume is being copied", func() string {
		return missingPart(textOf(p.admin.deployment(t, d.Id).Detail), " copied")
	})
	to.agent.kill()
	eventually(t, "the move is called off", func() string {
		now := p.admin.deployment(t, d.Id)
		return missingPart(textOf(now.Detail), "was not moved to node "+to.name) +
			missingPart(textOf(now.Node), from.name)
	})
	p.answers(t, url)
	p.answers(t, once)
	if now := from.describeVolume(t, d.Id); now != before {
		t.Errorf("after a move that failed the volume holds\n%s\ninstead of\n%s", now, before)
	}
	from.checkStopSignals(t, d.Id, 1)
	if now := from.container(t, d.Id); now != container {
		t.Errorf("after a move that failed it runs in container %s instead of %s", now, container)
	}
	to.start(t)
	to.await(t, apiclient.NodeStatusOnline)
	to.awaitCleared(t, d.Id)

	p.admin.move(t, "keeps")
	p.admin.arrives(t, d, to)
	p.answers(t, url)
	p.answers(t, once)
	if now := to.describeVolume(t, d.Id); now != before {
		t.Errorf("the volume holds\n%s\ninstead of\n%s", now, before)
	}
	to.checkStopSignals(t, d.Id, 2)
	from.awaitCleared(t, d.Id)

	if out, errs, code := p.admin.cli(t, "node", "drain", to.name, "--move"); code != 0 {
		t.Fatalf("node drain --move: %d %s%s", code, out, errs)
	}
	p.admin.arrives(t, d, from)
	p.answers(t, url)
	p.answers(t, once)
	if now := from.describeVolume(t, d.Id); now != before {
		t.Errorf("drained, the volume holds\n%s\ninstead of\n%s", now, before)
	}
	from.checkStopSignals(t, d.Id, 3)
	to.awaitDrain(t, apiclient.DrainStatusDrained)
	p.admin.remove(t, d.Id)
	from.nothingLeft(t, d.Id)
	to.nothingLeft(t, d.Id)
}

// keepingService returns a service with a volume, which writes to it when it gets its stop signal.
func keepingService(stays bool) object {
	step := webStep("web")
	service := step["service"].(object)
	service["name"], service["command"] = "keeping", []string{"serve", "8080", "/data/said"}
	service["volumes"] = []object{{"name": "data", "path": "/data", "stays": stays}}
	return step
}

// neverRestarted is a service that nobody starts again once it ended, other than the
// platform, which ended it for the move.
func neverRestarted() object {
	step := webStep("once")
	service := step["service"].(object)
	service["name"], service["command"] = "keeping", []string{"serve", "8080"}
	service["restart"] = "never"
	return step
}

// move waits while a node is still being cleared: its engine is empty a moment before the control
// plane learns that.
func (who *person) move(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" may be moved", func() string {
		out, errs, code := who.cli(t, "move", name)
		if code != 0 && !strings.Contains(errs, "still being cleared away") {
			t.Fatalf("move: %d %s%s", code, out, errs)
		}
		return errs
	})
}

// arrives waits until the deployment is what it was, on another node.
func (who *person) arrives(t *testing.T, was apiclient.Deployment, at *node) {
	t.Helper()
	eventually(t, was.Name+" is on node "+at.name, func() string {
		now := who.deployment(t, was.Id)
		if textOf(now.Node) != at.name || now.Moving != nil ||
			now.Status != apiclient.DeploymentStatusReady {
			return fmt.Sprintf("it is %s on %s: %s", now.Status, textOf(now.Node), textOf(now.Detail))
		}
		if now.Versions[0].Digest != was.Versions[0].Digest {
			t.Errorf("it runs %s instead of %s", now.Versions[0].Digest, was.Versions[0].Digest)
		}
		return ""
	})
}

// volume is the folder of a deployment's only volume.
func (n *node) volume(t *testing.T, id string) string {
	t.Helper()
	if k := clusterOf(n); k != nil {
		return k.volume(t, n, id)
	}
	list, err := dockertest.Client(t, n.docker).VolumeList(t.Context(), client.VolumeListOptions{
		Filters: client.Filters{}.Add("label", "nullops.deployment="+id,
			"nullops.install="+n.install(t))})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("node %s has volumes %v of %s: %v", n.name, list.Items, id, err)
	}
	return list.Items[0].Mountpoint
}

// container is the id of that of a deployment's service that keeps data.
func (n *node) container(t *testing.T, id string) string {
	t.Helper()
	list, err := dockertest.Client(t, n.docker).ContainerList(t.Context(),
		client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label",
			"nullops.deployment="+id, "nullops.install="+n.install(t), "nullops.kind=service",
			"nullops.step=web")})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("node %s has containers %v of %s: %v", n.name, list.Items, id, err)
	}
	return list.Items[0].ID
}

// checkStopSignals checks the volume for what the service wrote each time it got its stop signal.
func (n *node) checkStopSignals(t *testing.T, id string, times int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.volume(t, id), "said"))
	if want := strings.Repeat("told to end\n", times); err != nil || string(text) != want {
		t.Errorf("told to end %d times, the service wrote %q: %v", times, text, err)
	}
}

// fill makes the volume something that takes its time to copy, and has everything
// that a copy can get wrong.
func (n *node) fill(t *testing.T, id string) {
	t.Helper()
	fillFolder(t, n.volume(t, id))
}

func fillFolder(t *testing.T, dir string) {
	t.Helper()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "of somebody"), 0o750),
		os.WriteFile(filepath.Join(dir, "of somebody/secret"), []byte("data"), 0o600),
		os.Symlink("/no/where", filepath.Join(dir, "link")),
		os.Link(filepath.Join(dir, "of somebody/secret"), filepath.Join(dir, "the same")),
		os.WriteFile(filepath.Join(dir, "said"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "large"), nil, 0o644),
		os.Truncate(filepath.Join(dir, "large"), 400<<20),
		os.Chown(filepath.Join(dir, "of somebody"), 1234, 4321),
		os.Chown(filepath.Join(dir, "of somebody/secret"), 70, 70),
		os.Chown(dir, 999, 998), os.Chmod(dir, 0o711|os.ModeSticky),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// describeVolume describes the volume's files, line by line, except what the service writes.
func (n *node) describeVolume(t *testing.T, id string) string {
	t.Helper()
	return describeFolder(t, n.volume(t, id))
}

func describeFolder(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		about, err := e.Info()
		if err != nil {
			return err
		}
		if e.Name() == "said" {
			return nil
		}
		s := about.Sys().(*syscall.Stat_t)
		holds := ""
		if e.Type()&fs.ModeSymlink != 0 {
			holds, err = os.Readlink(path)
		} else if e.Type().IsRegular() && about.Size() < 1<<10 {
			text, failed := os.ReadFile(path)
			holds, err = string(text), failed
		}
		fmt.Fprintf(&all, "%s %s %d:%d size %d links %d %q\n", strings.TrimPrefix(path, dir),
			about.Mode(), s.Uid, s.Gid, about.Size(), s.Nlink, holds)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// awaitCleared waits until the node has nothing of a deployment of another one.
func (n *node) awaitCleared(t *testing.T, id string) {
	t.Helper()
	eventually(t, "node "+n.name+" is cleared", func() string {
		return strings.Join(n.leftOf(t, id), ", ")
	})
}

func missingPart(text, part string) string {
	if strings.Contains(text, part) {
		return ""
	}
	return fmt.Sprintf("it says %q; ", text)
}
