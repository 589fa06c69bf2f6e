package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// result is what became of a mutant.
type result struct {
	mutant  mutant
	killed  bool
	reached bool // by a test
	invalid bool // the compiler refused it
}

// runner tests the mutants of one target.
type runner struct {
	builder  *builder
	coverage *coverage
	binaries []binary
	baseline map[string]time.Duration // of all tests of a package
	mu       sync.Mutex               // guards the builder
}

// checkBaseline makes sure that the tests pass with all mutants built in and none chosen:
// otherwise every mutant would count as killed.
func (r *runner) checkBaseline(ctx context.Context) error {
	for _, made := range r.binaries {
		began := time.Now()
		out, err := made.run(ctx, 0, "-test.short", "-test.run", r.builder.tests.String())
		if err != nil {
			return fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", made.tests, err, out)
		}
		r.baseline[made.tests] = time.Since(began)
	}
	return nil
}

// testAll tests mutants, some at a time, until the time is over, and returns the results in
// their order.
func (r *runner) testAll(ctx context.Context, mutants []mutant, o options) []result {
	results := make([]result, len(mutants))
	var group sync.WaitGroup
	places := make(chan struct{}, o.parallel)
	began := time.Now()
	for i, m := range mutants {
		places <- struct{}{}
		if o.most > 0 && time.Since(began) > o.most {
			mutants = mutants[:i]
			break
		}
		group.Go(func() {
			defer func() { <-places }()
			if ctx.Err() == nil {
				results[i] = r.test(ctx, m)
				printResult(results[i])
			}
		})
	}
	group.Wait()
	return results[:len(mutants)]
}

func printResult(r result) {
	word := "killed  "
	switch {
	case r.invalid:
		return
	case !r.reached:
		word = "MISSED  " // no test comes by
	case !r.killed:
		word = "SURVIVED"
	}
	fmt.Printf("%s %s:%d %s\n", word, r.mutant.file, r.mutant.line,
		strings.TrimPrefix(r.mutant.id, r.mutant.file+" "))
}

// test runs the tests that come by a mutant, until one of them fails.
func (r *runner) test(ctx context.Context, m mutant) result {
	done := result{mutant: m}
	binaries := r.binaries
	for _, made := range binaries {
		done.reached = done.reached || len(r.coverage.findTests(made.tests, m)) > 0
	}
	if m.alone && done.reached {
		r.mu.Lock()
		var err error
		binaries, _, err = r.builder.build(ctx, []mutant{m})
		r.mu.Unlock()
		if done.invalid = err != nil; done.invalid {
			return done
		}
		defer removeAll(binaries)
	}
	for _, made := range binaries {
		tests := r.coverage.findTests(made.tests, m)
		if len(tests) == 0 || done.killed {
			continue
		}
		done.killed = r.isNoticed(ctx, made, m, tests)
	}
	return done
}

// isNoticed reports whether one of the tests fails, or does not end in several times the time
// that it should take. The quick tests run first: mostly they are enough.
func (r *runner) isNoticed(ctx context.Context, made binary, m mutant, tests []string) bool {
	slow := slices.IndexFunc(tests, func(test string) bool {
		return r.coverage.took[testName{made.tests, test}] > quickTest
	})
	if slow < 0 {
		slow = len(tests)
	}
	return r.isNoticedBy(ctx, made, m, tests[:slow]) || r.isNoticedBy(ctx, made, m, tests[slow:])
}

// quickTest is what a test may take to be one of the first.
const quickTest = 500 * time.Millisecond

func (r *runner) isNoticedBy(ctx context.Context, made binary, m mutant, tests []string) bool {
	if len(tests) == 0 {
		return false
	}
	var expected time.Duration // one after the other, which takes longest
	for _, test := range tests {
		expected += r.coverage.took[testName{made.tests, test}]
	}
	limit := 5*time.Second + 4*min(expected, r.baseline[made.tests])
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := made.run(limited, m.number, "-test.short", "-test.failfast",
		"-test.run", "^("+strings.Join(tests, "|")+")$")
	var exit *exec.ExitError
	return errors.As(err, &exit) || errors.Is(limited.Err(), context.DeadlineExceeded)
}

func removeAll(binaries []binary) {
	for _, made := range binaries {
		_ = os.Remove(made.path)
	}
}

// endWithChildren makes a test end with all that it started.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
}
