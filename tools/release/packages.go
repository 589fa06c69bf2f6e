package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// writePackages writes a .deb and an .rpm for each platform that servers run on.
func (r *release) writePackages(ctx context.Context) error {
	said, err := exec.CommandContext(ctx, filepath.Join(r.root, "tools/setup/nfpm.sh")).Output()
	if err != nil {
		return fmt.Errorf("build nfpm: %w", err)
	}
	nfpm := strings.TrimSpace(string(said))
	manPages, err := r.packManPages()
	if err != nil {
		return err
	}
	for _, p := range r.serverPlatforms() {
		config, err := r.packageConfig(p, manPages)
		if err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			pack := exec.CommandContext(ctx, nfpm, "package", "--config", config, "--packager", kind,
				"--target", r.out)
			// The time of what nfpm itself adds to a package.
			pack.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.made.Unix()))
			if said, err := pack.CombinedOutput(); err != nil {
				return fmt.Errorf("write the %s for %s: %w\n%s", kind, p, err, said)
			}
		}
	}
	return nil
}

// packageConfig fills deploy/packages/nfpm.yaml in.
func (r *release) packageConfig(p platform, manPages string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "deploy/packages/nfpm.yaml"))
	if err != nil {
		return "", err
	}
	more := "  - src: " + manPages + "/*.1.gz\n    dst: /usr/share/man/man1/\n"
	if r.key != nil {
		more += "  - src: " + r.folder(p) + "/nullops.sig\n    dst: /usr/share/nullops/nullops.sig\n"
	}
	values := map[string]string{"ARCH": p.arch, "VERSION": r.version,
		"MADE": r.made.Format(time.RFC3339), "PROGRAM": r.folder(p), "HELP": r.helpFolder(),
		"FILES": filepath.Join(r.root, "deploy/packages"), "LICENSE": filepath.Join(r.root, "LICENSE"),
		"MORE": more}
	name := filepath.Join(r.scratch, "nfpm-"+p.arch+".yaml")
	filled := os.Expand(string(text), func(variable string) string { return values[variable] })
	return name, os.WriteFile(name, []byte(filled), 0o644)
}

// packManPages compresses the man pages, as packages have them.
func (r *release) packManPages() (folder string, err error) {
	folder = filepath.Join(r.scratch, "man")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	pages, err := listFolder(filepath.Join(r.helpFolder(), "man"), ".")
	if err != nil {
		return "", err
	}
	for _, page := range pages {
		if err := packFile(page.from, filepath.Join(folder, filepath.Base(page.name)+".gz")); err != nil {
			return "", err
		}
	}
	return folder, nil
}

func packFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	_, err = z.Write(text)
	return errors.Join(err, z.Close(), f.Close())
}
