package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nullops/nullops/internal/signing"
)

// platform is what a program is built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// platforms are those of the archives. Servers run on Linux; elsewhere, the program has the
// commands that speak to a control plane.
func platforms() []platform {
	return []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"},
		{"darwin", "arm64"}, {"windows", "amd64"}}
}

// platforms are those that this release is built for.
func (r *release) platforms() []platform {
	return slices.DeleteFunc(platforms(), func(p platform) bool {
		return len(r.narrowed) > 0 && !slices.Contains(r.narrowed, p.String())
	})
}

// serverPlatforms are those of images and packages.
func (r *release) serverPlatforms() []platform {
	return slices.DeleteFunc(r.platforms(), func(p platform) bool { return p.os != "linux" })
}

// folder has what is built for a platform: the program, its signature, the sidecar.
func (r *release) folder(p platform) string {
	return filepath.Join(r.scratch, "programs", p.os+"-"+p.arch)
}

func (p platform) program() string {
	if p.os == "windows" {
		return "nullops.exe"
	}
	return "nullops"
}

func (r *release) buildPrograms(ctx context.Context) error {
	for _, p := range r.platforms() {
		if err := os.MkdirAll(r.folder(p), 0o755); err != nil {
			return err
		}
		var flags []string
		if p.os == "linux" {
			if err := r.goBuild(ctx, p, "sidecar", "./cmd/sidecar", "-s -w"); err != nil {
				return err
			}
			overlay, err := r.writeOverlay(p)
			if err != nil {
				return err
			}
			flags = append(flags, "-overlay="+overlay)
		}
		link := "-s -w -X main.build=" + r.version
		if r.key != nil {
			link += " -X main.releaseKey=" + signing.FormatPublicKey(r.publicKey())
		}
		if err := r.goBuild(ctx, p, p.program(), "./cmd/nullops", link, flags...); err != nil {
			return err
		}
		if err := r.signProgram(p); err != nil {
			return err
		}
	}
	return r.writeHelp(ctx)
}

// writeOverlay puts the sidecar of the platform where the agent embeds this machine's.
func (r *release) writeOverlay(p platform) (string, error) {
	text, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(r.root, "agent/docker/bin/sidecar"): filepath.Join(r.folder(p), "sidecar")}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(r.scratch, "overlay-"+p.arch+".json")
	return name, os.WriteFile(name, text, 0o644)
}

// goBuild builds one program. Paths and the state of the repository are kept out of it.
func (r *release) goBuild(ctx context.Context, p platform, name, source, link string,
	flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=" + link,
		"-o", filepath.Join(r.folder(p), name)}, flags...)
	build := exec.CommandContext(ctx, "go", append(args, source)...)
	build.Dir = r.root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+p.os,
		"GOARCH="+p.arch)
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s: %w\n%s", source, p, err, said)
	}
	return nil
}

// signProgram writes nullops.sig beside the program, which 'nullops version --verify' reads.
func (r *release) signProgram(p platform) error {
	if r.key == nil {
		return nil
	}
	program, err := os.Open(filepath.Join(r.folder(p), p.program()))
	if err != nil {
		return err
	}
	defer program.Close()
	hash, err := signing.HashProgram(program)
	if err != nil {
		return err
	}
	file := signing.Sign(r.key, signing.Statement{Release: r.version, Platform: p.String(),
		SHA256: hash})
	return os.WriteFile(filepath.Join(r.folder(p), "nullops.sig"), file, 0o644)
}

// helpFolder has man pages and completions, which the program itself writes.
func (r *release) helpFolder() string { return filepath.Join(r.scratch, "help") }

func (r *release) writeHelp(ctx context.Context) error {
	host, err := r.hostProgram(ctx)
	if err != nil {
		return err
	}
	man := filepath.Join(r.helpFolder(), "man")
	write := exec.CommandContext(ctx, host, "reference", "man", man)
	if said, err := write.CombinedOutput(); err != nil {
		return fmt.Errorf("write the man pages: %w\n%s", err, said)
	}
	completions := filepath.Join(r.helpFolder(), "completions")
	if err := os.MkdirAll(completions, 0o755); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "nullops", "zsh": "_nullops",
		"fish": "nullops.fish", "powershell": "nullops.ps1"} {
		script, err := exec.CommandContext(ctx, host, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("write the completion for %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(completions, name), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hostProgram is the program that runs on this machine.
func (r *release) hostProgram(ctx context.Context) (string, error) {
	said, err := exec.CommandContext(ctx, "go", "env", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("ask Go for this machine's platform: %w", err)
	}
	words := strings.Fields(string(said))
	host := platform{words[0], words[1]}
	if host.os != "linux" {
		return "", fmt.Errorf("a release is built on Linux, not on %s: its man pages have the commands "+
			"of servers", host.os)
	}
	return filepath.Join(r.folder(host), host.program()), nil
}
