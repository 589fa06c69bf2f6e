package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// changedLines are the lines of each file that differ from an older commit.
type changedLines map[string]map[int]bool

func (c changedLines) include(m mutant) bool { return c[m.file][m.line] }

// freshness is how far back findBase looks at most for what a change began with.
const freshness = 3 * time.Hour

// findChangedLines compares the checkout with a commit.
func findChangedLines(ctx context.Context, base string) (changedLines, error) {
	if base == "" {
		found, err := findBase(ctx)
		if err != nil {
			return nil, err
		}
		base = found
	}
	out, err := runGit(ctx, "diff", "--unified=0", "--no-color", "--no-ext-diff", base, "--", "*.go")
	if err != nil {
		return nil, err
	}
	return readDiff(out), nil
}

// findBase is where the branch left the main one. In a clone of the main branch itself, such as
// the one of a CI run, it is the newest commit of those that are some hours older than the last.
func findBase(ctx context.Context) (string, error) {
	head, err := runGit(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	for _, main := range []string{"origin/main", "main"} {
		base, err := runGit(ctx, "merge-base", "HEAD", main)
		if err == nil && strings.TrimSpace(base) != strings.TrimSpace(head) {
			return strings.TrimSpace(base), nil
		}
	}
	stamp, err := runGit(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return "", err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(stamp), 10, 64)
	if err != nil {
		return "", err
	}
	before := time.Unix(seconds, 0).Add(-freshness).Format(time.RFC3339)
	base, err := runGit(ctx, "rev-list", "-1", "--before="+before, "HEAD")
	if err == nil && base == "" {
		err = errors.New("no commit is older; name one with --base")
	}
	return strings.TrimSpace(base), err
}

func runGit(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

var hunkPattern = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// readDiff lists the lines that a diff without context adds.
func readDiff(text string) changedLines {
	changed := changedLines{}
	file := ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = strings.TrimSpace(name)
		}
		match := hunkPattern.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		first, _ := strconv.Atoi(match[1])
		count := 1
		if match[2] != "" {
			count, _ = strconv.Atoi(match[2])
		}
		if changed[file] == nil {
			changed[file] = map[int]bool{}
		}
		for n := range count {
			changed[file][first+n] = true
		}
	}
	return changed
}
