package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// coverage knows which tests come by which places of a target.
type coverage struct {
	// blocks are the pieces of each file that a test executed, by the test.
	blocks map[testName]map[string][]block
	took   map[testName]time.Duration
	mu     sync.Mutex // guards both while tests are measured
}

// testName is a top-level test of a package.
type testName struct{ pkg, test string }

// block is a piece of a file from a line and column to another.
type block struct{ beginLine, beginColumn, endLine, endColumn int }

func (b block) includes(p place) bool {
	return (p.line > b.beginLine || p.line == b.beginLine && p.column >= b.beginColumn) &&
		(p.line < b.endLine || p.line == b.endLine && p.column < b.endColumn)
}

// measureCoverage runs every test alone, once, and some tests at a time. Tests that are skipped
// here cover nothing.
func (b *builder) measureCoverage(ctx context.Context, parallel int) (*coverage, error) {
	binaries, said, err := b.build(ctx, nil, "-cover", "-coverpkg="+joinDir(b.target.dir))
	if err != nil {
		return nil, fmt.Errorf("its tests do not build: %w\n%s", err, said)
	}
	c := &coverage{
		blocks: map[testName]map[string][]block{}, took: map[testName]time.Duration{},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	places := make(chan struct{}, parallel)
	for _, made := range binaries {
		listed, err := made.run(ctx, 0, "-test.list", ".")
		if err != nil {
			return nil, fmt.Errorf("its tests cannot be listed: %w\n%s", err, listed)
		}
		for test := range strings.Lines(string(listed)) {
			test = strings.TrimSpace(test)
			isTest := strings.HasPrefix(test, "Test") || strings.HasPrefix(test, "Fuzz")
			if !isTest || !b.tests.MatchString(test) {
				continue
			}
			places <- struct{}{}
			group.Go(func() {
				defer func() { <-places }()
				if err := b.measureTest(ctx, c, made, test); err != nil {
					cancel(err)
				}
			})
		}
	}
	group.Wait()
	return c, context.Cause(ctx)
}

func (b *builder) measureTest(ctx context.Context, c *coverage, made binary, test string) error {
	profile := filepath.Join(b.work, filepath.Base(made.path)+test+".out")
	began := time.Now()
	out, err := made.run(ctx, 0, "-test.short", "-test.run", "^"+test+"$",
		"-test.coverprofile", profile)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s fails without any mutant: %w\n%s", test, err, out)
	}
	took := time.Since(began)
	blocks, err := readProfile(profile)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took[testName{made.tests, test}], c.blocks[testName{made.tests, test}] = took, blocks
	return err
}

var profilePattern = regexp.MustCompile(`^(\S+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// readProfile reads which blocks were executed, by the base name of their file.
func readProfile(name string) (map[string][]block, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	blocks := map[string][]block{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		match := profilePattern.FindStringSubmatch(lines.Text())
		if match == nil || match[6] == "0" {
			continue
		}
		var b block
		if _, err := fmt.Sscan(strings.Join(match[2:6], " "), &b.beginLine, &b.beginColumn,
			&b.endLine, &b.endColumn); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		file := filepath.Base(match[1])
		blocks[file] = append(blocks[file], b)
	}
	return blocks, errors.Join(lines.Err(), f.Close())
}

// findTests returns the tests of a package that come by a mutant.
func (c *coverage) findTests(pkg string, m mutant) (tests []string) {
	for name, files := range c.blocks {
		// A constant has no line that is executed: its tests may come by no line at all.
		reached := m.anywhere ||
			slices.ContainsFunc(files[filepath.Base(m.file)], func(b block) bool {
				return b.includes(m.passage)
			})
		if name.pkg == pkg && reached {
			tests = append(tests, name.test)
		}
	}
	// The quickest first: mostly it is enough.
	slices.SortFunc(tests, func(a, b string) int {
		return int(c.took[testName{pkg, a}] - c.took[testName{pkg, b}])
	})
	return tests
}
