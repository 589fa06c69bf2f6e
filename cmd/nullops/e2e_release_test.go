//go:build releases

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRelease makes a release for this machine's platform, as 'make release' does, and does the
// main job with what comes out of it: the program of the archive verifies itself, the package is
// installed in a Debian of its own and runs the product, and deploy/setup.sh starts the images.
func TestRelease(t *testing.T) {
	w := newWorld(t)
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("there is no release for this machine")
	}
	r := makeRelease(t, "--twice")
	r.verifiesItself(t)
	r.packageRuns(t, w)
	r.imagesStart(t, w)
}

// verifiesItself takes the program out of its archive: it proves itself with the release's key, and
// a changed one does not.
func (r madeRelease) verifiesItself(t *testing.T) {
	t.Helper()
	base := "nullops-" + releasedVersion + "-linux-" + runtime.GOARCH
	to := t.TempDir()
	runTool(t, "", "tar", "-xzf", filepath.Join(r.dir, base+".tar.gz"), "-C", to)
	program := filepath.Join(to, base, "nullops")
	out, errs, code := runCommand(t, program, nil, "", "version", "--verify", "--key", r.public)
	if code != 0 || !strings.Contains(out, releasedVersion) {
		t.Fatalf("the program does not verify: %s%s", out, errs)
	}
	whole, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	// Behind what the machine runs, so that the program still starts.
	writeFile(t, program, string(whole)+"\x00", 0o755)
	if _, errs, code := runCommand(t, program, nil, "", "version", "--verify", "--key",
		r.public); code == 0 {
		t.Errorf("a changed program verifies: %s", errs)
	}
}

// packageRuns installs the .deb in a Debian of its own, and tells the shop's story with the program
// there: people, agents and the control plane use nothing else.
func (r madeRelease) packageRuns(t *testing.T, w *world) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(r.dir, "*.deb"))
	if err != nil || len(all) != 1 {
		t.Fatalf("packages for Debian: %v, %v", all, err)
	}
	d := newDebian(t, strings.TrimPrefix(w.docker, "unix://"))
	copyFile(t, all[0], filepath.Join(d.root, "nullops.deb"), 0o644)
	runTool(t, "", d.enter, "dpkg", "--install", "/nullops.deb")
	for _, file := range []string{"/etc/nullops/nullops.env", "/usr/share/man/man1/nullops.1.gz",
		"/usr/share/bash-completion/completions/nullops",
		"/usr/lib/systemd/system/nullops-controlplane.service"} {
		if _, err := os.Stat(d.root + file); err != nil {
			t.Error(err)
		}
	}
	runTool(t, "", d.enter, "getent", "passwd", "nullops")
	program := filepath.Join(t.TempDir(), "nullops")
	writeFile(t, program, "#!/bin/sh\nexec "+d.enter+" /usr/bin/nullops \"$@\"\n", 0o755)
	inside := &world{t: t, binary: program, docker: w.docker, registry: w.registry}
	inside.ranges.Store(w.ranges.Add(1) - 1)
	p := startProduct(t, inside)
	p.applyShop(t)
	p.enrol(t, "packaged", "qa")
	made := p.admin.deployReady(t, "shop", "packaged", nil)
	p.answers(t, serviceURL(t, made, "web"))
	p.command(t, 0, "remove", "packaged")
	runTool(t, "", d.enter, "dpkg", "--remove", "nullops")
	if _, err := os.Stat(filepath.Join(d.root, "usr/bin/nullops")); err == nil {
		t.Error("a removed package leaves its program")
	}
}

// TestRelease_Packages installs the other package, and both beside containers of NullOps, which is
// refused in a sentence and leaves nothing.
func TestRelease_Packages(t *testing.T) {
	w := newWorld(t)
	r := makeRelease(t, "--only", "programs,archives,packages")
	d := newDebian(t, strings.TrimPrefix(w.docker, "unix://"))
	for _, kind := range []string{"deb", "rpm"} {
		all, err := filepath.Glob(filepath.Join(r.dir, "*."+kind))
		if err != nil || len(all) != 1 {
			t.Fatalf("packages: %v, %v", all, err)
		}
		copyFile(t, all[0], filepath.Join(d.root, "nullops."+kind), 0o644)
	}
	d.run(t, w, `tar -cf - etc/hostname | docker import - nullops-test/package
		docker create --name nullops-test-package --label com.docker.compose.project=nullops \
			nullops-test/package /nothing`)
	for _, install := range []string{"dpkg --install /nullops.deb",
		"rpm --install --nodeps /nullops.rpm"} {
		said := d.run(t, w, install+" && echo installed || true")
		if !strings.Contains(said, "this machine runs NullOps in containers") ||
			strings.Contains(said, "\ninstalled") {
			t.Errorf("%s beside containers:\n%s", install, said)
		}
		if _, err := os.Stat(filepath.Join(d.root, "usr/bin/nullops")); err == nil {
			t.Errorf("%s was refused, and left the program", install)
		}
	}
	d.run(t, w, "docker rm nullops-test-package; docker rmi nullops-test/package")
	// The script after the installation gives the settings to the group that it makes.
	said := d.run(t, w, `rpm --install --nodeps /nullops.rpm
		rpm --verify --nodeps --nogroup nullops
		nullops version
		getent passwd nullops
		rpm --erase nullops
		test ! -e /usr/bin/nullops`)
	if !strings.Contains(said, releasedVersion) {
		t.Errorf("the .rpm has another program:\n%s", said)
	}
}

// debian is a Debian in a folder. What runs in it sees this machine's devices, the folders of tests
// in /tmp, and the engine's socket; there is no systemd.
type debian struct{ root, enter string }

// newDebian unpacks one. Its mounts are its processes' own: none is left behind for whoever removes
// the folder.
func newDebian(t *testing.T, socket string) debian {
	t.Helper()
	d := debian{root: shortDir(t), enter: filepath.Join(t.TempDir(), "enter")}
	unpackDebian(t, d.root)
	for _, file := range []string{"/etc/hosts", "/etc/resolv.conf"} {
		copyFile(t, file, d.root+file, 0o644)
	}
	// The example's documents name files of these folders, relative to where tests run.
	for _, folder := range []string{"deploy", "plugins"} {
		if err := os.CopyFS(filepath.Join(d.root, folder), os.DirFS("../../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(d.root+socket), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, d.root+socket, "", 0o600)
	writeFile(t, d.enter, `#!/bin/sh
exec unshare --mount --propagation private sh -euc 'root=$1 socket=$2; shift 2
for folder in /proc /dev /sys; do mount --rbind "$folder" "$root$folder"; done
mount --bind "$socket" "$root$socket"
mount --bind /tmp "$root/tmp"
exec chroot "$root" "$@"' sh `+d.root+" "+socket+` "$@"
`, 0o755)
	return d
}

// run runs a script in it, with the engine of the tests.
func (d debian) run(t *testing.T, w *world, script string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), d.enter, "sh", "-ec", script)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DOCKER_HOST=" + w.docker}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// imagesStart starts the images with deploy/setup.sh, which verifies their signature, and refuses
// them once a byte differs.
func (r madeRelease) imagesStart(t *testing.T, w *world) {
	t.Helper()
	s := newShipped(t, w)
	for _, name := range []string{"Dockerfile", "setup.sh", "compose.yaml"} {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	runTool(t, "", "tar", "-xzf", filepath.Join(r.dir, "nullops-setup-"+releasedVersion+".tar.gz"),
		"--strip-components=1", "-C", s.dir)
	said := s.setup(t, "--release", r.dir, "--key", r.public)
	if !strings.Contains(said, "whose signature matches") {
		t.Errorf("it does not say that it verified the images:\n%s", said)
	}
	s.project = releasedVersion // what clear removes
	s.ready(t, s.awaitLogLine(t, `sha256:[0-9a-f]{64}`))
	images := filepath.Join(r.dir,
		"nullops-images-"+releasedVersion+"-linux-"+runtime.GOARCH+".tar")
	file, err := os.OpenFile(images, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "./setup.sh", "--release", r.dir, "--key", r.public)
	c.Dir, c.Env, c.WaitDelay = s.dir, append(cleanEnv(), s.env...), time.Second
	if out, err := c.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "is not the file that was signed") {
		t.Errorf("changed images start: %v\n%s", err, out)
	}
}
