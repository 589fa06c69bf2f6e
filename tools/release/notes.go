package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mostNotes bounds the notes of a first release.
const mostNotes = 200

// writeNotes writes the subjects of the commits since the last release.
func (r *release) writeNotes(ctx context.Context) error {
	since := r.lastRelease(ctx)
	span := r.commit
	if since != "" {
		span = since + ".." + r.commit
	}
	log, err := exec.CommandContext(ctx, "git", "-C", r.root, "log", "--no-merges", "--format=%s",
		fmt.Sprintf("--max-count=%d", mostNotes), span).Output()
	if err != nil {
		return fmt.Errorf("read the commits: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# NullOps %s\n\nMade on %s.", r.version, r.made.Format("2 January 2006"))
	if since != "" {
		fmt.Fprintf(&b, " What changed since %s:", since)
	}
	b.WriteString("\n\n")
	for line := range strings.Lines(string(log)) {
		fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(line))
	}
	b.WriteString("\nBefore you upgrade, read `docs/recovery.md`. To check what you downloaded:\n\n" +
		"    sha256sum --check --ignore-missing checksums.txt\n" +
		"    openssl pkeyutl -verify -pubin -inkey nullops-release.pub -rawin \\\n" +
		"      -in checksums.txt -sigfile checksums.txt.sig\n")
	return os.WriteFile(filepath.Join(r.out, "release-notes.md"), []byte(b.String()), 0o644)
}

// lastRelease is the newest tag before this commit; empty before the first.
func (r *release) lastRelease(ctx context.Context) string {
	tag, err := exec.CommandContext(ctx, "git", "-C", r.root, "describe", "--tags", "--abbrev=0",
		"--match", "v[0-9]*", "--exclude", r.version, r.commit).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(tag))
}
