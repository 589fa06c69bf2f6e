// Command release builds everything that a release has, with Go and Node only:
//
//	tools/run release --version v1.2.3 [--key FILE] [--out DIR] [--only KIND,KIND] [--twice]
//	  [--platform OS/ARCH,OS/ARCH]
//
// programs for five platforms in archives, container images for two, packages for Debian and RPM,
// the Helm charts, a list of what is inside (CycloneDX), notes from the commits, checksums, and
// their signature. Nothing of it depends on the clock or on where it is built: --twice builds all
// of it a second time elsewhere and compares.
package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nullops/nullops/internal/signing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := runRelease(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one release that is being built.
type release struct {
	root, out, scratch string
	version            string
	// commit is what is built, and made its time: what a release says about when it was made.
	commit string
	made   time.Time
	key    ed25519.PrivateKey
	only   []string
	// narrowed are the only platforms, as GOOS/GOARCH; empty is all.
	narrowed []string
}

func runRelease(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "the release, such as v1.2.3")
	keyFile := flags.String("key", "", "file with an ed25519 key in PEM that signs it")
	out := flags.String("out", "", "folder for the release; dist/VERSION without it")
	only := flags.String("only", "", "only these: "+strings.Join(partNames(), ","))
	platform := flags.String("platform", "", "only these, for tests: linux/amd64,linux/arm64")
	twice := flags.Bool("twice", false, "build a second time, and compare")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r, err := newRelease(ctx, *version, *keyFile, *out, *only)
	if err != nil {
		return err
	}
	if *platform != "" {
		r.narrowed = strings.Split(*platform, ",")
		if len(r.serverPlatforms()) == 0 {
			return fmt.Errorf("--platform %s: name one of Linux, whose program writes the help", *platform)
		}
	}
	if err := r.build(ctx); err != nil {
		return err
	}
	if *twice {
		return r.buildAgain(ctx)
	}
	return nil
}

// versionForm is what packages, charts and images all take.
var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

func newRelease(ctx context.Context, version, keyFile, out, only string) (*release, error) {
	if !versionForm.MatchString(version) {
		return nil, fmt.Errorf("%q is no version: write VERSION=v1.2.3", version)
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		return nil, errors.New("run this at the top of the repository")
	}
	r := &release{root: root, version: version, out: out}
	if out == "" {
		r.out = filepath.Join(root, "dist", version)
	}
	if r.commit, r.made, err = readCommit(ctx, root); err != nil {
		return nil, err
	}
	if only != "" {
		r.only = strings.Split(only, ",")
	}
	for _, name := range r.only {
		if !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("--only %s: there are %s", name, strings.Join(partNames(), ", "))
		}
	}
	if keyFile == "" {
		return r, nil
	}
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	r.key, err = signing.ReadPrivateKey(text)
	return r, err
}

func readCommit(ctx context.Context, root string) (commit string, made time.Time, err error) {
	said, err := exec.CommandContext(ctx, "git", "-C", root, "log", "-1", "--format=%H %ct").Output()
	if err != nil {
		return "", made, fmt.Errorf("read the commit: %w", err)
	}
	commit, at, _ := strings.Cut(strings.TrimSpace(string(said)), " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	return commit, time.Unix(seconds, 0).UTC(), err
}

// checkStill refuses a release of which parts may be of one commit, and parts of another.
func (r *release) checkStill(ctx context.Context) error {
	now, _, err := readCommit(ctx, r.root)
	if err == nil && now != r.commit {
		err = fmt.Errorf("the sources changed while it was built, from commit %.10s to %.10s: "+
			"build it again, in a clone that nobody else works in", r.commit, now)
	}
	return err
}

// part is one kind of what a release has. Parts are built in the order of the list: later ones
// take what earlier ones have made.
type part struct {
	name  string
	build func(*release, context.Context) error
}

func parts() []part {
	return []part{{"programs", (*release).buildPrograms}, {"archives", (*release).writeArchives},
		{"images", (*release).writeImages}, {"packages", (*release).writePackages},
		{"charts", (*release).writeCharts}, {"sbom", (*release).writeSBOM},
		{"notes", (*release).writeNotes}, {"sums", (*release).writeSums}}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// build builds into a folder beside its place, and puts it there when all of it is done: a
// release that exists is whole.
func (r *release) build(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(r.out), 0o755); err != nil {
		return err
	}
	place := r.out
	if r.out, err = os.MkdirTemp(filepath.Dir(place), ".unfinished-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.out); r.out = place }()
	if err := os.Chmod(r.out, 0o755); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "nullops-release-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.scratch) }()
	for _, p := range parts() {
		if len(r.only) > 0 && !slices.Contains(r.only, p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "release: %s\n", p.name)
		if err := p.build(r, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := r.checkStill(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	if err := os.Rename(r.out, place); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "release: %s is in %s\n", r.version, place)
	return nil
}

// buildAgain builds into another folder, and compares all files.
func (r *release) buildAgain(ctx context.Context) error {
	first := r.out
	r.out = first + "-again"
	defer func() { _ = os.RemoveAll(r.out); r.out = first }()
	if err := r.build(ctx); err != nil {
		return err
	}
	before, err := sumFiles(first)
	if err != nil {
		return err
	}
	after, err := sumFiles(r.out)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("the second build differs:\n%s", differentLines(before, after))
	}
	fmt.Fprintln(os.Stderr, "release: a second build has the same bytes")
	return nil
}

func differentLines(before, after string) string {
	var different []string
	kept := strings.Split(before, "\n")
	for line := range strings.Lines(after) {
		if !slices.Contains(kept, strings.TrimSuffix(line, "\n")) {
			different = append(different, line)
		}
	}
	return strings.Join(different, "")
}
