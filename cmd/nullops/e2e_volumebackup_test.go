package main_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
)

// backedUpVolumes is a disaster: control plane, database, agents and every volume are gone, and two
// deployments come back on a blank machine with what they had written.
//
// promise: N-329
func backedUpVolumes(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	image := dockertest.PublishActorImage(t, w.docker, "nullops-test/saving", `ENTRYPOINT ["/actor"]`)
	p.admin.put(t, "/services/keeping", object{"registry": "local", "image": image.Repository,
		"tag_mode": "pinned", "tag": image.Tag}, nil)
	p.define(t, "saves", keepingService(false), neverRestarted())
	old := p.enrol(t, "old", "qa")
	first := p.admin.deployReady(t, "saves", "first", nil)
	large := p.admin.deployReady(t, "saves", "large", nil)
	old.write(t, first.Id, "page", "canary-of-a-volume")
	old.fill(t, large.Id)
	before := map[string]string{first.Id: old.describeVolume(t, first.Id),
		large.Id: old.describeVolume(t, large.Id)}

	folder := filepath.Join(shortDir(t), "backup")
	p.interruptBackup(t, folder)
	for _, d := range []apiclient.Deployment{first, large} {
		p.answers(t, serviceURL(t, d, "web"))
		p.answers(t, serviceURL(t, d, "once"))
	}
	kept := volumeFiles(t, folder)
	out, errs, code := p.server(t, "backup", "--volumes", "--to="+folder, "--deployment=first")
	if code == 0 || !strings.Contains(errs, "with other options") {
		t.Errorf("continued with other options: %d %s%s", code, out, errs)
	}
	out = p.serves(t, "backup", "--volumes", "--to="+folder, "--env", "qa")
	if !strings.Contains(out, "copied before") {
		t.Errorf("the continued backup says\n%s", out)
	}
	files := volumeFiles(t, folder)
	if len(files) != 2 || len(kept) != 1 || !slices.Contains(files, kept[0]) {
		t.Errorf("interrupted it had %q, continued it has %q", kept, files)
	}
	p.holdsNothingReadable(t, folder)
	if !strings.Contains(p.audit(t), "system:backup back up volumes deployment first") {
		t.Errorf("the journal does not know of the backup:\n%s", p.audit(t))
	}

	p.loseEverything(t, old, first.Id, large.Id)
	p.restoreDatabase(t, folder)
	old.await(t, apiclient.NodeStatusOffline)
	blank := p.enrol(t, "blank", "qa")
	p.refusesDamage(t, folder)
	for _, d := range []apiclient.Deployment{first, large} {
		blank.nothingLeft(t, d.Id)
	}
	p.serves(t, "restore", "--volumes", "--from", folder)
	for _, d := range []apiclient.Deployment{first, large} {
		now := p.admin.deployment(t, d.Id)
		if textOf(now.Node) != blank.name || now.Versions[0].Digest != d.Versions[0].Digest {
			t.Errorf("%s is on %s with %v", d.Name, textOf(now.Node), now.Versions)
		}
		p.answers(t, serviceURL(t, d, "web"))
		p.answers(t, serviceURL(t, d, "once"))
		if has := blank.describeVolume(t, d.Id); has != before[d.Id] {
			t.Errorf("the volume of %s holds\n%s\ninstead of\n%s", d.Name, has, before[d.Id])
		}
	}
	p.restoreInPlace(t, blank, first, folder, before[first.Id])
	p.copyRunning(t, blank, first)
}

// write puts a file into a deployment's volume.
func (n *node) write(t *testing.T, id, name, content string) {
	t.Helper()
	path := filepath.Join(n.volume(t, id), name)
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

// server runs a command of the control plane's machine.
func (p *product) server(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	env, settings := p.settings()
	return runCommand(t, p.w.binary, env, "", append(args, settings...)...)
}

func (p *product) serves(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := p.server(t, args...)
	if code != 0 {
		t.Fatalf("nullops %s: exit code %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// interruptBackup ends a backup once it has the first of two deployments.
func (p *product) interruptBackup(t *testing.T, folder string) {
	t.Helper()
	env, settings := p.settings()
	running := startProcess(t, p.w.binary, "backup", p.dir, env, append([]string{"backup",
		"--volumes", "--to=" + folder, "--env=qa"}, settings...)...)
	eventually(t, "the second volume is being copied", func() string {
		found, err := filepath.Glob(filepath.Join(folder, "*.volume.writing"))
		if len(volumeFiles(t, folder)) == 1 && len(found) == 1 && err == nil {
			return ""
		}
		return lastLines(running.log, 3) + " "
	})
	running.stop(t)
	if code := running.cmd.ProcessState.ExitCode(); code == 0 {
		t.Error("the interrupted backup says that it is complete")
	}
	if text := lastLines(running.log, 5); !strings.Contains(text, "interrupted: start it again") {
		t.Errorf("the interrupted backup says %s", text)
	}
}

// volumeFiles names the files of volumes that are whole, each with its inode.
func volumeFiles(t *testing.T, folder string) (all []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*.volume"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		about, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, filepath.Base(path)+" "+formatNumber(int(about.Sys().(*syscall.Stat_t).Ino)))
	}
	return all
}

// holdsNothingReadable looks for a volume's content, and for names, in what was written.
func (p *product) holdsNothingReadable(t *testing.T, folder string) {
	t.Helper()
	for _, dir := range []string{folder, p.dir} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte("canary-of-a-volume")) ||
				dir == folder && bytes.Contains(text, []byte("of somebody")) {
				t.Errorf("%s can be read", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// loseEverything leaves of the control plane, the node and its volumes nothing but the backup.
func (p *product) loseEverything(t *testing.T, n *node, ids ...string) {
	t.Helper()
	p.controlPlane.kill()
	p.ingress.stop(t)
	n.agent.kill()
	api := dockertest.Client(t, n.docker)
	for _, id := range ids {
		own := client.Filters{}.Add("label", "nullops.deployment="+id)
		list, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: own})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Items {
			_, err = api.ContainerRemove(t.Context(), c.ID, client.ContainerRemoveOptions{Force: true})
			if err != nil {
				t.Fatal(err)
			}
		}
		v, err := api.VolumeList(t.Context(), client.VolumeListOptions{Filters: own})
		if err != nil || len(v.Items) != 1 {
			t.Fatalf("volumes %v: %v", v.Items, err)
		}
		_, err = api.VolumeRemove(t.Context(), v.Items[0].Name, client.VolumeRemoveOptions{})
		networks, listed := api.NetworkList(t.Context(), client.NetworkListOptions{Filters: own})
		for _, one := range networks.Items {
			_, gone := api.NetworkRemove(context.WithoutCancel(t.Context()), one.ID,
				client.NetworkRemoveOptions{})
			err = errors.Join(err, gone)
		}
		if err = errors.Join(err, listed); err != nil {
			t.Fatal(err)
		}
	}
}

// restoreDatabase fills an empty database, not with a file that was changed.
func (p *product) restoreDatabase(t *testing.T, folder string) {
	t.Helper()
	p.database = pgtest.NewEmptyDatabase(t)
	put := changeFile(t, filepath.Join(folder, "database"), flipByte)
	if out, errs, code := p.server(t, "restore", "--from", folder); code == 0 ||
		!strings.Contains(errs, "cut off or was changed") {
		t.Errorf("a database that was changed is restored: %d %s%s", code, out, errs)
	}
	put()
	p.serves(t, "restore", "--from", folder)
	p.startControlPlane(t)
	p.startIngress(t)
}

// refusesDamage changes the files of volumes in every way, and none of it is restored.
func (p *product) refusesDamage(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.volume"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%q: %v", files, err)
	}
	swap := func() {
		other := files[0] + ".other"
		for _, err := range []error{os.Rename(files[0], other), os.Rename(files[1], files[0]),
			os.Rename(other, files[1])} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func() func(){
		"changed": func() func() { return changeFile(t, files[0], flipByte) },
		"cut off": func() func() {
			return changeFile(t, files[1], func(b []byte) []byte { return b[:len(b)-1] })
		},
		"swapped": func() func() { swap(); return swap },
		"index changed": func() func() {
			return changeFile(t, filepath.Join(folder, "index"), flipByte)
		},
		"emptied": func() func() {
			return changeFile(t, files[0], func([]byte) []byte { return nil })
		},
	} {
		put := damage()
		out, errs, code := p.server(t, "restore", "--volumes", "--from="+folder)
		if code == 0 || !strings.Contains(errs, "cut off or was changed") || out != "" {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
		named := strings.Contains(errs, "nothing was restored") &&
			strings.Contains(errs, "volume data of service web") && strings.Contains(errs, "deployment ")
		if !named && name != "index changed" {
			t.Errorf("%s: it says %s", name, errs)
		}
		put()
	}
}

func flipByte(b []byte) []byte {
	b[len(b)/2] ^= 1
	return b
}

// changeFile changes a file, and returns how to put back what it was.
func changeFile(t *testing.T, path string, change func([]byte) []byte) (put func()) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(bytes.Clone(was)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// restoreInPlace puts the volume of a running deployment back to what it was.
func (p *product) restoreInPlace(
	t *testing.T, n *node, d apiclient.Deployment, folder, before string,
) {
	t.Helper()
	n.write(t, d.Id, "page", "broken")
	n.write(t, d.Id, "more", "that was not there")
	out := p.serves(t, "restore", "--volumes", "--from", folder, "--deployment", d.Name)
	if !strings.Contains(out, "restored on node "+n.name) || strings.Contains(out, "large") {
		t.Errorf("it says\n%s", out)
	}
	p.answers(t, serviceURL(t, d, "web"))
	p.answers(t, serviceURL(t, d, "once"))
	if has := n.describeVolume(t, d.Id); has != before {
		t.Errorf("restored in place, the volume holds\n%s\ninstead of\n%s", has, before)
	}
}

// copyRunning backs up a service without stopping it.
func (p *product) copyRunning(t *testing.T, n *node, d apiclient.Deployment) {
	t.Helper()
	container := n.containers(t, d.Id)["web"]
	folder := filepath.Join(shortDir(t), "running")
	p.serves(t, "backup", "--volumes", "--to", folder, "--running", "--deployment="+d.Id)
	now := n.containers(t, d.Id)["web"]
	if len(volumeFiles(t, folder)) != 1 || now.State.StartedAt != container.State.StartedAt {
		t.Errorf("it was started at %s, and before at %s", now.State.StartedAt,
			container.State.StartedAt)
	}
	if _, errs, code := p.server(t, "backup", "--volumes", "--to", folder, "--running",
		"--deployment="+d.Id); code == 0 || !strings.Contains(errs, "is complete") {
		t.Errorf("a complete backup is written over: %d %s", code, errs)
	}
}
